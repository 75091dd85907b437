# Install rules and the package. The libraries are those of StrettoTargets.cmake that exist; their header folders are those of
# their INTERFACE_INCLUDE_DIRECTORIES, which become the same folders below include/stretto.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(header_root ${CMAKE_INSTALL_INCLUDEDIR}/stretto)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Stretto)

# <folder of the sources or of the build> -> that folder in the build, include/stretto/<folder> once installed.
function(stretto_relocate_includes target)
    get_target_property(dirs ${target} INTERFACE_INCLUDE_DIRECTORIES)
    set(result "")
    foreach(dir IN LISTS dirs)
        string(REGEX REPLACE "^\\$<BUILD_INTERFACE:(.*)>$" "\\1" dir "${dir}")
        foreach(root "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}")
            cmake_path(IS_PREFIX root "${dir}" NORMALIZE inside)
            if(inside)
                cmake_path(RELATIVE_PATH dir BASE_DIRECTORY "${root}" OUTPUT_VARIABLE relative)
                set(dir "$<BUILD_INTERFACE:${dir}>;$<INSTALL_INTERFACE:${header_root}/${relative}>")
                break()
            endif()
        endforeach()
        if(dir AND NOT dir MATCHES "-NOTFOUND$")
            list(APPEND result "${dir}")
        endif()
    endforeach()
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${result}")
endfunction()

foreach(part runtime mpi compiler)
    set(exported "")
    foreach(target IN LISTS ${part}_targets)
        if(TARGET ${target})
            stretto_relocate_includes(${target})
            list(APPEND exported ${target})
        endif()
    endforeach()
    if(part STREQUAL "compiler" AND exported)
        set_target_properties(stretto_compiler PROPERTIES EXPORT_NAME compiler)
        foreach(target IN LISTS exported)
            if(NOT target STREQUAL "stretto_generator_main")
                target_link_libraries(stretto_compiler INTERFACE ${target})
            endif()
        endforeach()
        list(APPEND exported stretto_compiler)
    endif()
    set(STRETTO_HAS_${part} OFF)
    if(exported)
        set(STRETTO_HAS_${part} ON)
        install(TARGETS ${exported} EXPORT Stretto_${part}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
            OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR})
        install(EXPORT Stretto_${part} NAMESPACE Stretto:: DESTINATION ${package_dir})
    endif()
endforeach()
if(TARGET stretto_run)
    install(TARGETS stretto_run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Headers, with the generated ones; halide_buffer_t's, so that an application needs no Halide.
set(header_folders collectives)
if(STRETTO_HAS_compiler)
    list(APPEND header_folders lang schedule lower)
endif()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
list(TRANSFORM header_folders PREPEND ${PROJECT_SOURCE_DIR}/)
install(DIRECTORY ${header_folders} ${PROJECT_BINARY_DIR}/generated DESTINATION ${header_root}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
file(GLOB top_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.h ${PROJECT_SOURCE_DIR}/*.hpp)
if(top_headers)
    install(FILES ${top_headers} DESTINATION ${header_root})
endif()
if(TARGET Stretto::HalideRuntimeHeaders)
    install(FILES ${HalideWheel_ROOT}/include/HalideRuntime.h ${HalideWheel_ROOT}/include/HalideBuffer.h
        DESTINATION ${header_root})
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/StrettoConfig.cmake.in ${PROJECT_BINARY_DIR}/StrettoConfig.cmake
    INSTALL_DESTINATION ${package_dir} PATH_VARS header_root)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrettoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrettoConfig.cmake ${PROJECT_BINARY_DIR}/StrettoConfigVersion.cmake
    cmake/FindHalideWheel.cmake cmake/StrettoHelpers.cmake
    DESTINATION ${package_dir})
