# Finds Halide as the Python wheel installs it: a folder `halide` with include/ and lib64/. Halide's own CMake package
# needs CMake 3.28; the library and its headers need none of it.
#
# Looked at, in this order: STRETTO_HALIDE_ROOT (variable, then environment), the virtual environment that ./run makes in the
# build folder. Defines, when found:
#   Stretto::Halide    headers and library
#   HalideWheel_ROOT, HalideWheel_VERSION
set(HalideWheel_ROOT "")
set(HalideWheel_VERSION "")
file(GLOB candidates LIST_DIRECTORIES true
     "${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/halide"
     "${CMAKE_BINARY_DIR}/venv/lib/python3*/site-packages/halide"
     "${CMAKE_BINARY_DIR}/../venv/lib/python3*/site-packages/halide")
if(STRETTO_HALIDE_ROOT)
    set(candidates "${STRETTO_HALIDE_ROOT}")
elseif(DEFINED ENV{STRETTO_HALIDE_ROOT})
    set(candidates "$ENV{STRETTO_HALIDE_ROOT}")
endif()

set(library "")
foreach(candidate IN LISTS candidates HalideWheel_HINTS)
    if(HalideWheel_ROOT OR NOT EXISTS "${candidate}/include/HalideRuntime.h")
        continue()
    endif()
    cmake_path(ABSOLUTE_PATH candidate NORMALIZE OUTPUT_VARIABLE HalideWheel_ROOT)
    foreach(folder lib64 lib)
        if(NOT library AND EXISTS "${candidate}/include/Halide.h" AND EXISTS "${candidate}/${folder}/libHalide.so")
            set(library "${HalideWheel_ROOT}/${folder}/libHalide.so")
        endif()
    endforeach()
    foreach(part MAJOR MINOR PATCH)
        file(STRINGS "${candidate}/include/HalideRuntime.h" line REGEX "define HALIDE_VERSION_${part} ")
        string(REGEX MATCH "[0-9]+" ${part} "${line}")
    endforeach()
    set(HalideWheel_VERSION "${MAJOR}.${MINOR}.${PATCH}")
endforeach()

if(library AND NOT TARGET Stretto::Halide)
    add_library(Stretto::Halide SHARED IMPORTED GLOBAL)
    set_target_properties(Stretto::Halide PROPERTIES
        IMPORTED_LOCATION "${library}"
        IMPORTED_SONAME libHalide.so
        INTERFACE_INCLUDE_DIRECTORIES "${HalideWheel_ROOT}/include")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(HalideWheel
    REQUIRED_VARS library HalideWheel_ROOT VERSION_VAR HalideWheel_VERSION
    REASON_FAILURE_MESSAGE "Make it with ./run build, or: pip install --no-deps halide==21.0.0 and \
-DSTRETTO_HALIDE_ROOT=<site-packages>/halide")
