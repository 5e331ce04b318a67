// The input and its square are 2 x 2 MiB on a rank.
// expect[GNU]: error_over_budget<mtf::budgeted::memory, 4194304, 4194303>
// expect[Clang]: error_over_budget<mtf::budgeted::memory, 4194304, 4194303>
// expect[NVIDIA]: error_over_budget<
// expect: error: static assertion failed.*mtf: a plan is over its budget
#include "names.hpp"

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
constexpr auto square = [](auto const& x) { return mtf::square(x); };
constexpr auto plan = mtf::plan_of<by_data>(square, mtf::input<float, batch, sequence, vocab>{});
#ifdef MTF_CONTROL
static_assert(mtf::within_budget<plan, mtf::budget{.memory = plan.peak_bytes}>());
#else
static_assert(mtf::within_budget<plan, mtf::budget{.memory = plan.peak_bytes - 1}>());
#endif
