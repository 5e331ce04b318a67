// A plan takes what stands for the parameters.
// expect[GNU]: error_not_an_input<mlp<
// expect[Clang]: error_not_an_input<mlp<
// expect[NVIDIA]: error_not_an_input<
// expect: error: static assertion failed.*mtf: plan_of takes, after the function, what stands for its arguments
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;

constexpr auto loss = [](auto const& p, auto const& x) { return mtf::mean(mtf::einsum<batch, digit>(x, p.w) + p.b); };
using by_data = mtf::layout<machine, mtf::split<batch, data>>;

#ifdef MTF_CONTROL
constexpr auto plan = mtf::plan_of<by_data>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, hidden>{});
#else
constexpr auto plan = mtf::plan_of<by_data>(loss, parameters{}, mtf::input<float, batch, hidden>{});
#endif
static_assert(plan.bytes_sent_per_rank() < 1000000);
