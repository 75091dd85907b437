# stretto_use_halide(target): links Halide and reuses the one precompiled Halide.h, which costs a second a file otherwise.
#
# A precompiled header is valid only for the flags it was made with: do not give such a target its own -O, -march or -std.
if(STRETTO_COMPILER AND STRETTO_PCH)
    add_library(stretto_halide_pch OBJECT ${PROJECT_SOURCE_DIR}/cmake/halide_pch.cpp)
    target_link_libraries(stretto_halide_pch PRIVATE Stretto::Halide)
    target_precompile_headers(stretto_halide_pch PRIVATE <Halide.h>)
endif()

function(stretto_use_halide target)
    if(NOT TARGET Stretto::Halide)
        message(FATAL_ERROR "stretto_use_halide(${target}): Halide is not found. ${without_halide}")
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
        target_link_libraries(${target} PRIVATE Stretto::Halide)
    else()
        target_link_libraries(${target} PUBLIC Stretto::Halide)
    endif()
    if(TARGET stretto_halide_pch)
        target_precompile_headers(${target} REUSE_FROM stretto_halide_pch)
    endif()
endfunction()
