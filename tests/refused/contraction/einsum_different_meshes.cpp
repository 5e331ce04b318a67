// Two operands of einsum live on different meshes.
// expect[GNU]: error_different_meshes<mtf::mesh<data, model>, mtf::mesh<pods>
// expect[Clang]: error_different_meshes<mtf::mesh<data, model>, mtf::mesh<pods>
// expect[NVIDIA]: error_different_meshes<
// expect: error: static assertion failed.*mtf: two operands live on different meshes
#include "names.hpp"

using other = mtf::layout<mtf::mesh<pods>>;
template <class... Dims>
using stranger = mtf::place<float, other, mtf::trace>::tensor<Dims...>;

#ifdef MTF_CONTROL
auto f(tensor<digit> const& x, tensor<digit> const& y) { return mtf::einsum<>(x, y); }
#else
auto f(tensor<digit> const& x, stranger<digit> const& y) { return mtf::einsum<>(x, y); }
#endif
