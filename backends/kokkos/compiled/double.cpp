// The kernels of double, for programs that link mtf::kokkos_compiled.
#define MTF_COMPILES_DOUBLE
#include <mtf/kokkos.hpp>
