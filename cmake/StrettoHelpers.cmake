# For projects that use Stretto, and for its own apps: a generator is a program that holds algorithms and schedules and
# compiles them; a library is what it compiled, a .a and a .h that know nothing of the compiler.
#
#   add_stretto_generator(adam_generator SOURCES adam_generator.cpp)
#   add_stretto_library(adam_fused FROM adam_generator GENERATOR adam SCHEDULE fused PARAMS grad_type=float16)
#   target_link_libraries(train PRIVATE adam_fused)        # #include "adam_fused.h"
include_guard(GLOBAL)

# add_stretto_generator(NAME SOURCES source...)
# An executable with the generator command line (`NAME` alone lists what it holds); main comes from Stretto.
function(add_stretto_generator name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "add_stretto_generator(${name} ${ARGN}): write add_stretto_generator(${name} SOURCES file.cpp ...)")
    endif()
    if(NOT TARGET Stretto::generator_main)
        message(FATAL_ERROR "add_stretto_generator(${name}): this Stretto has no compiler half. Configure Stretto where Halide "
                            "is found; its summary says what is missing.")
    endif()
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE Stretto::generator_main Stretto::compiler)
    target_compile_features(${name} PRIVATE cxx_std_17)
    if(COMMAND stretto_use_halide)
        stretto_use_halide(${name})
    endif()
endfunction()

# Halide's own run-time support, one archive for all libraries of a target; any generator can write it.
function(stretto_halide_runtime generator target out_target out_archive)
    string(MAKE_C_IDENTIFIER "stretto_halide_runtime_${target}" name)
    set(dir "${CMAKE_BINARY_DIR}/stretto/runtime")
    if(NOT TARGET ${name})
        file(MAKE_DIRECTORY "${dir}")
        add_custom_command(
            OUTPUT "${dir}/${name}.a"
            COMMAND ${generator} -r ${name} -o "${dir}" target=${target}
            DEPENDS ${generator}
            COMMENT "Writing Halide's runtime for ${target}"
            VERBATIM)
        add_custom_target(${name} DEPENDS "${dir}/${name}.a")
    endif()
    set(${out_target} ${name} PARENT_SCOPE)
    set(${out_archive} "${dir}/${name}.a" PARENT_SCOPE)
endfunction()

# add_stretto_library(NAME FROM generator-target GENERATOR g [FUNCTION f] [SCHEDULE s] [PARAMS k=v ...] [TARGET t])
# A library to link: f.a, f.h (f: NAME unless given), the runtime, and Halide's run-time support. SCHEDULE is a name that the
# generator knows, or @file. TARGET is Halide's, `host` unless given.
function(add_stretto_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM;GENERATOR;FUNCTION;SCHEDULE;TARGET" "PARAMS")
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_FROM OR NOT arg_GENERATOR)
        message(FATAL_ERROR "add_stretto_library(${name} ${ARGN}): write add_stretto_library(${name} FROM generator-target "
                            "GENERATOR g [FUNCTION f] [SCHEDULE s] [PARAMS k=v ...] [TARGET t])")
    endif()
    if(NOT TARGET ${arg_FROM})
        message(FATAL_ERROR "add_stretto_library(${name}): FROM ${arg_FROM} is not a target; add_stretto_generator makes one")
    endif()
    if(NOT arg_FUNCTION)
        set(arg_FUNCTION ${name})
    endif()
    if(NOT arg_TARGET)
        set(arg_TARGET host)
    endif()
    set(arguments "target=${arg_TARGET}")
    set(inputs ${arg_FROM})
    if(arg_SCHEDULE MATCHES "^@(.+)$")
        cmake_path(ABSOLUTE_PATH CMAKE_MATCH_1 BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" OUTPUT_VARIABLE file)
        list(APPEND arguments "schedule=@${file}")
        list(APPEND inputs "${file}")
    elseif(arg_SCHEDULE)
        list(APPEND arguments "schedule=${arg_SCHEDULE}")
    endif()
    list(APPEND arguments ${arg_PARAMS})

    set(dir "${CMAKE_CURRENT_BINARY_DIR}/stretto/${name}")
    set(archive "${dir}/${arg_FUNCTION}.a")
    file(MAKE_DIRECTORY "${dir}")
    add_custom_command(
        OUTPUT "${archive}" "${dir}/${arg_FUNCTION}.h"
        COMMAND ${arg_FROM} -g ${arg_GENERATOR} -f ${arg_FUNCTION} -o "${dir}" -e static_library,c_header ${arguments}
        DEPENDS ${inputs}
        COMMENT "Compiling ${arg_FUNCTION}: ${arg_GENERATOR} ${arguments}"
        VERBATIM)
    add_custom_target(${name}_files DEPENDS "${archive}" "${dir}/${arg_FUNCTION}.h")
    stretto_halide_runtime(${arg_FROM} ${arg_TARGET} support support_archive)

    add_library(${name} STATIC IMPORTED GLOBAL)
    set_target_properties(${name} PROPERTIES
        IMPORTED_LOCATION "${archive}"
        IMPORTED_LINK_INTERFACE_LANGUAGES CXX
        INTERFACE_INCLUDE_DIRECTORIES "${dir}"
        INTERFACE_LINK_LIBRARIES "Stretto::runtime;${support_archive};Threads::Threads;${CMAKE_DL_LIBS};m")
    add_dependencies(${name} ${name}_files ${support})
endfunction()
