# stretto_test(NAME [SOURCES file...] [LIBRARIES target...] [LABELS label...] [ENVIRONMENT VAR=value...]
#              [SERIAL] [HALIDE])
# One doctest program, one idea. SOURCES defaults to NAME.cpp. In tests/FOLDER it is the ctest test FOLDER.NAME and the
# target test_FOLDER_NAME. main comes with it: it fails when no test case ran.
#   SERIAL   runs alone: for tests that count what the machine shares
#   HALIDE   includes Halide.h: reuses the precompiled one
# A test that cannot run calls stretto::test::skip("test", "reason") of tests/skip.h.
include_guard(GLOBAL)

# mpirun refuses root, and more ranks than cores, unless told; the first names are Open MPI 4's, the last Open MPI 5's.
set(STRETTO_TEST_ENVIRONMENT
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe)

if(STRETTO_MPI)
    # The mpiexec that belongs to the MPI of stretto_mpi: Debian names both after it.
    cmake_path(GET MPI_CXX_COMPILER PARENT_PATH mpi_bin)
    cmake_path(GET MPI_CXX_COMPILER EXTENSION LAST_ONLY mpi_name)
    find_program(STRETTO_MPIEXEC NAMES mpiexec${mpi_name} mpiexec HINTS ${mpi_bin})
    mark_as_advanced(STRETTO_MPIEXEC)
endif()

# stretto_test_properties(NAME same options): for tests that are not doctest programs and were made with add_test.
function(stretto_test_properties test)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "" "LABELS;ENVIRONMENT")
    set_tests_properties(${test} PROPERTIES
        TIMEOUT 1800  # it hangs; no bound on its time
        SKIP_RETURN_CODE 77
        LABELS "${arg_LABELS}"
        ENVIRONMENT "${STRETTO_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
    if(arg_SERIAL)
        set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()

function(stretto_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;HALIDE" "" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "stretto_test(${name}): what is `${arg_UNPARSED_ARGUMENTS}`? Known: SOURCES, LIBRARIES, LABELS, "
                            "ENVIRONMENT, SERIAL, HALIDE")
    endif()
    if(NOT arg_SOURCES)
        set(arg_SOURCES ${name}.cpp)
    endif()
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${PROJECT_SOURCE_DIR}/tests" OUTPUT_VARIABLE folder)
    string(MAKE_C_IDENTIFIER "${folder}_${name}" target)
    set(target test_${target})
    add_executable(${target} ${arg_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES} stretto_test_main)
    if(arg_HALIDE)
        stretto_use_halide(${target})
    endif()
    add_test(NAME ${folder}.${name} COMMAND ${target})
    set(options "")
    if(arg_SERIAL)
        list(APPEND options SERIAL)
    endif()
    stretto_test_properties(${folder}.${name} ${options} LABELS ${folder} ${arg_LABELS} ENVIRONMENT ${arg_ENVIRONMENT})
endfunction()
