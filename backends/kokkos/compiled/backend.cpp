// The backend and what tensors on it do, for programs that link mtf::kokkos_compiled.
#define MTF_COMPILES_BACKEND
#include <mtf/kokkos.hpp>
