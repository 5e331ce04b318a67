// The kernels of bfloat16, for programs that link mtf::kokkos_compiled.
#define MTF_COMPILES_BFLOAT16
#include <mtf/kokkos.hpp>
