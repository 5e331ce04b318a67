// A planned function prints.
// expect[GNU]: error: .*puts.* is not a constant expression
// expect[GNU]: plan_not_constexpr.cpp:
// expect[Clang]: error: constexpr variable 'what_the_planned_function_does' must be initialized by a constant expression
// expect[Clang]: note: non-constexpr function 'puts'
// expect[NVIDIA]: must have a constant value
#include "names.hpp"
#include <cstdio>

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
template <template <class...> class Tensor>
struct weights {
  Tensor<batch> w;
  MTF_FIELDS(w);
};

constexpr auto total = [](auto const& p) {
#ifndef MTF_CONTROL
  std::puts("total");
#endif
  return mtf::sum(p.w);
};
constexpr auto plan = mtf::plan_of<by_data>(total, mtf::parameters<weights>{});
static_assert(plan.count() < 100);
