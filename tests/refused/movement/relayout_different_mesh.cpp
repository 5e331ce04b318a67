// A relayout to another mesh.
// expect[GNU]: error_different_meshes<mtf::mesh<data, model>, mtf::mesh<pods>
// expect[Clang]: error_different_meshes<mtf::mesh<data, model>, mtf::mesh<pods>
// expect[NVIDIA]: error_different_meshes<
// expect: error: static assertion failed.*mtf: two operands live on different meshes
#include "names.hpp"

using other = mtf::layout<mtf::mesh<pods>>;

#ifdef MTF_CONTROL
auto f(tensor<digit> const& x) { return mtf::relayout<elsewhere>(x); }
#else
auto f(tensor<digit> const& x) { return mtf::relayout<other>(x); }
#endif
