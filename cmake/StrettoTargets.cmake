# The libraries of the project by the half they belong to. One that exists is Stretto::<name without stretto_>, in the tree and
# in the package; a new one is added here.
set(runtime_targets stretto_runtime stretto_plan)
set(mpi_targets stretto_mpi)
set(compiler_targets stretto_lang stretto_schedule stretto_lower stretto_generator stretto_generator_main)

# All of the compiler half but generator_main, which has a main of its own.
add_library(stretto_compiler INTERFACE)
add_library(Stretto::compiler ALIAS stretto_compiler)

# Names what exists by now. Called after each folder, so that the folders after it see the names.
function(stretto_name_targets)
    foreach(target IN LISTS runtime_targets mpi_targets compiler_targets)
        string(REGEX REPLACE "^stretto_" "" name ${target})
        if(TARGET ${target} AND NOT TARGET Stretto::${name})
            add_library(Stretto::${name} ALIAS ${target})
        endif()
        if(TARGET ${target})
            set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
        endif()
    endforeach()
endfunction()
