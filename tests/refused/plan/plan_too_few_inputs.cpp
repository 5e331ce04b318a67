// A loss is planned without its input.
// expect[GNU]: error_not_callable<.*mlp
// expect[Clang]: error_not_callable<.*mlp
// expect[NVIDIA]: error_not_callable<
// expect: error: static assertion failed.*mtf: a function cannot be called with the arguments that it would get
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};

constexpr auto loss = [](auto const& p, auto const& x) { return mtf::mean(mtf::einsum<batch, digit>(x, p.w) + p.b); };
using by_data = mtf::layout<machine, mtf::split<batch, data>>;

#ifdef MTF_CONTROL
constexpr auto plan = mtf::plan_of<by_data>(loss, mtf::parameters<mlp>{}, mtf::input<float, batch, hidden>{});
#else
constexpr auto plan = mtf::plan_of<by_data>(loss, mtf::parameters<mlp>{});
#endif
static_assert(plan.bytes_sent_per_rank() < 1000000);
