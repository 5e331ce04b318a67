// A structure within the parameters forgets a tensor, and the plan says so.
// expect[GNU]: error_fields<layer, 3, 2>
// expect[Clang]: error_fields<layer, 3, 2>
// expect[NVIDIA]: error_fields<
// expect: error: static assertion failed.*mtf: the MTF_FIELDS of a structure do not name each of its tensors once
#include "names.hpp"
#include <array>

template <template <class...> class Tensor>
struct layer {
  Tensor<hidden, digit> w;
  std::array<Tensor<digit>, 2> b;
#ifdef MTF_CONTROL
  MTF_FIELDS(w, b);
#else
  MTF_FIELDS(b);
#endif
};
template <template <class...> class Tensor>
struct mlp {
  std::array<layer<Tensor>, 3> layers;
  Tensor<digit> last;
  MTF_FIELDS(layers, last);
};

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
constexpr auto loss = [](auto const& p, auto const& x) {
  return mtf::mean(mtf::einsum<batch, digit>(x, p.layers[1].w) + p.layers[2].b[0] + p.last);
};
constexpr auto plan = mtf::plan_of<by_data>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, hidden>{});
