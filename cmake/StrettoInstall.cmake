# Install rules and the package. The headers are the public ones, <stretto/...> behind one include folder.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Stretto)

foreach(part runtime mpi compiler)
    set(exported "")
    foreach(target IN LISTS ${part}_targets)
        if(TARGET ${target})
            # No macro of its own for a shared library: it would compile everything once more.
            set_target_properties(${target} PROPERTIES SOVERSION ${PROJECT_VERSION} DEFINE_SYMBOL "")
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
            OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}
            INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
        install(EXPORT Stretto_${part} NAMESPACE Stretto:: DESTINATION ${package_dir})
    endif()
endforeach()
if(TARGET stretto_run)
    install(TARGETS stretto_run RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# runtime.h and runtime.hpp, mpi.h where it was built; of the compiler half one header, stretto.h with all that it includes.
set(headers ${CMAKE_INSTALL_INCLUDEDIR}/stretto)
install(FILES include/stretto/runtime.h include/stretto/runtime.hpp DESTINATION ${headers})
if(STRETTO_HAS_mpi)
    install(FILES include/stretto/mpi.h DESTINATION ${headers})
endif()
if(STRETTO_HAS_compiler)
    set(one_header ${PROJECT_BINARY_DIR}/stretto.h)
    install(CODE "set(header \"${PROJECT_SOURCE_DIR}/include/stretto/stretto.h\")
        set(roots \"${PROJECT_SOURCE_DIR};${PROJECT_BINARY_DIR}/generated\")
        set(output \"${one_header}\")")
    install(SCRIPT cmake/OneHeader.cmake)
    install(FILES ${one_header} DESTINATION ${headers})
endif()

# For pkg-config. The system libraries are what artefacts and Halide's run-time support need.
file(RELATIVE_PATH prefix_from_pc /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(static_libraries "")
if(NOT STRETTO_SHARED)
    set(static_libraries "-lstretto_plan -lstdc++")
endif()
configure_file(cmake/stretto.pc.in ${PROJECT_BINARY_DIR}/stretto.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/stretto.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/StrettoConfig.cmake.in ${PROJECT_BINARY_DIR}/StrettoConfig.cmake
    INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/StrettoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/StrettoConfig.cmake ${PROJECT_BINARY_DIR}/StrettoConfigVersion.cmake
    cmake/FindHalideWheel.cmake cmake/StrettoHelpers.cmake
    DESTINATION ${package_dir})
