// Two operands of six dimensions each, of which they share two: ten together.
// expect[GNU]: error_too_many_dims<8, mtf::shape<batch, hidden, a1
// expect[Clang]: error_too_many_dims<8, mtf::shape<batch, hidden, a1
// expect[NVIDIA]: error_too_many_dims<
// expect: error: static assertion failed.*more dimensions than mtf::max_dims
#include "names.hpp"

struct a1 : mtf::dim<"a1", 2> {};
struct a2 : mtf::dim<"a2", 2> {};
struct a3 : mtf::dim<"a3", 2> {};
struct a4 : mtf::dim<"a4", 2> {};
struct b1 : mtf::dim<"b1", 2> {};
struct b2 : mtf::dim<"b2", 2> {};
struct b3 : mtf::dim<"b3", 2> {};
struct b4 : mtf::dim<"b4", 2> {};
#ifdef MTF_CONTROL
auto f(tensor<batch, hidden, a1, a2> const& x, tensor<batch, hidden, b1, b2, b3, b4> const& y) {
  return mtf::einsum<batch, a1, b1>(x, y);
}
#else
auto f(tensor<batch, hidden, a1, a2, a3, a4> const& x, tensor<batch, hidden, b1, b2, b3, b4> const& y) {
  return mtf::einsum<batch, a1, b1>(x, y);
}
#endif
