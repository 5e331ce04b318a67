// Two all-reduces where one is allowed.
// expect[GNU]: error_over_budget<mtf::budgeted::collectives, 2, 1>
// expect[Clang]: error_over_budget<mtf::budgeted::collectives, 2, 1>
// expect[NVIDIA]: error_over_budget<
// expect: error: static assertion failed.*mtf: a plan is over its budget
#include "names.hpp"

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
#ifdef MTF_CONTROL
constexpr auto total = [](auto const& x) { return mtf::exp(mtf::sum<batch>(x) + mtf::sum<batch>(mtf::square(x))); };
#else
constexpr auto total = [](auto const& x) { return mtf::exp(mtf::sum<batch>(x)) + mtf::exp(mtf::sum<batch>(mtf::square(x))); };
#endif
constexpr auto plan = mtf::plan_of<by_data>(total, mtf::input<float, batch, vocab>{});
static_assert(mtf::within_budget<plan, mtf::budget{.collectives = 1}>());
