// The kernels of float, for programs that link mtf::kokkos_compiled.
#define MTF_COMPILES_FLOAT
#include <mtf/kokkos.hpp>
