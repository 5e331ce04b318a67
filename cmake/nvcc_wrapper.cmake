# A toolchain file: Kokkos' nvcc_wrapper as the C++ compiler. It comes with Kokkos' source, which is brought here first,
# as project() already tries the compiler. For an installed Kokkos say -DCMAKE_CXX_COMPILER=<prefix>/bin/nvcc_wrapper
# instead.
include("${CMAKE_CURRENT_LIST_DIR}/mtf_kokkos_source.cmake")
mtf_kokkos_source(mtf_kokkos_dir)
set(CMAKE_CXX_COMPILER "${mtf_kokkos_dir}/bin/nvcc_wrapper")
