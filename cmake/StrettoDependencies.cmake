# Finds what can be used and settles the options that say AUTO. For each item, <ITEM>_STATE is what the summary prints.
find_package(Threads REQUIRED)

macro(stretto_settle option found missing)
    if(${option} STREQUAL "AUTO")
        set(${option} ${found})
    elseif(${option} AND NOT ${found})
        message(FATAL_ERROR "${option}=${${option}}, but ${missing}")
    endif()
endmacro()

# Halide, for the compiler half.
find_package(HalideWheel 21 QUIET)
set(without_halide "Halide 21 is not found. Run ./run build, or: pip install --no-deps halide==21.0.0 and set \
STRETTO_HALIDE_ROOT to <site-packages>/halide")
if(STRETTO_COMPILER STREQUAL "OFF")
    set(HALIDE_STATE "off: STRETTO_COMPILER=OFF")
elseif(HalideWheel_FOUND)
    set(HALIDE_STATE "on: ${HalideWheel_VERSION}, ${HalideWheel_ROOT}")
else()
    set(HALIDE_STATE "off: ${without_halide}")
endif()
stretto_settle(STRETTO_COMPILER "${HalideWheel_FOUND}" "${without_halide}")

# Open MPI by name where Debian's alternatives have it beside another; -DMPI_CXX_COMPILER=... chooses.
if(STRETTO_MPI STREQUAL "OFF")
    set(MPI_STATE "off: STRETTO_MPI=OFF")
else()
    find_program(MPI_C_COMPILER NAMES mpicc.openmpi)
    find_program(MPI_CXX_COMPILER NAMES mpicxx.openmpi)
    set(MPI_CXX_SKIP_MPICXX ON)
    find_package(MPI QUIET COMPONENTS C CXX)
    if(MPI_FOUND)
        set(MPI_STATE "on: MPI ${MPI_CXX_VERSION}, ${MPI_CXX_COMPILER}")
    else()
        set(MPI_STATE "off: no MPI compiler wrapper is found (Debian: libopenmpi-dev openmpi-bin)")
    endif()
    stretto_settle(STRETTO_MPI "${MPI_FOUND}" "no MPI compiler wrapper is found (Debian: libopenmpi-dev openmpi-bin)")
endif()

# CBLAS, for comparisons: Stretto::blas where it is found.
find_path(STRETTO_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)
find_library(STRETTO_BLAS_LIBRARY NAMES openblas)
mark_as_advanced(STRETTO_CBLAS_INCLUDE_DIR STRETTO_BLAS_LIBRARY)
if(STRETTO_CBLAS_INCLUDE_DIR AND STRETTO_BLAS_LIBRARY)
    add_library(Stretto::blas UNKNOWN IMPORTED GLOBAL)
    set_target_properties(Stretto::blas PROPERTIES
        IMPORTED_LOCATION "${STRETTO_BLAS_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${STRETTO_CBLAS_INCLUDE_DIR}")
    set(BLAS_STATE "on: ${STRETTO_BLAS_LIBRARY}, for comparisons in tests and apps")
else()
    set(BLAS_STATE "off: OpenBLAS is not found (Debian: libopenblas-dev); comparisons with it are left out")
endif()

# Looked for and reported; no target uses them before gpu/ has code.
find_program(STRETTO_NVCC nvcc HINTS /usr/local/cuda/bin)
find_path(STRETTO_NCCL_INCLUDE_DIR nccl.h HINTS /usr/local/cuda/include)
mark_as_advanced(STRETTO_NVCC STRETTO_NCCL_INCLUDE_DIR)
if(STRETTO_NVCC)
    set(CUDA_STATE "off: ${STRETTO_NVCC} is here, but nothing uses it yet")
else()
    set(CUDA_STATE "off: nvcc is not found, and nothing uses it yet")
endif()
if(STRETTO_NCCL_INCLUDE_DIR)
    set(NCCL_STATE "off: ${STRETTO_NCCL_INCLUDE_DIR}/nccl.h is here, but nothing uses it yet")
else()
    set(NCCL_STATE "off: nccl.h is not found, and nothing uses it yet")
endif()
