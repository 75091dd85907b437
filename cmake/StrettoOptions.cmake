# Build type, flags and compiler cache, the same for every target.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

# -fPIC for all, by option and not by CMAKE_POSITION_INDEPENDENT_CODE: that gives executables -fPIE, and a precompiled
# header made with the one is refused with the other.
# -ffp-contract=off: what C++ code computes (the reference, expected values) must not depend on the target having FMA.
add_compile_options(-fPIC -Wall -Wextra -ffp-contract=off)

if(STRETTO_SANITIZE)
    list(JOIN STRETTO_SANITIZE "," sanitizers)
    if(NOT sanitizers MATCHES "^(thread|(address|undefined)(,(address|undefined))?)$")
        message(FATAL_ERROR "STRETTO_SANITIZE=\"${STRETTO_SANITIZE}\" is not known. "
                            "Legal: \"address;undefined\", \"address\", \"undefined\", \"thread\".")
    endif()
    add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${sanitizers})
endif()

# Shared libraries find each other in one folder, and Halide and MPI where they were when this was built.
set(BUILD_SHARED_LIBS ${STRETTO_SHARED})
set(CMAKE_INSTALL_RPATH $ORIGIN)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# ccache refuses precompiled headers unless told that macros and dates in them do not matter.
find_program(STRETTO_CCACHE ccache)
mark_as_advanced(STRETTO_CCACHE)
if(STRETTO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
        ${STRETTO_CCACHE})
    set(CMAKE_C_COMPILER_LAUNCHER ${STRETTO_CCACHE})
endif()
