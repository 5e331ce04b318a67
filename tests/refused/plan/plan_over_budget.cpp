// A sum over 2 x 32 x 512 floats, all-reduced over two ranks, sends as many bytes as there are: over 64 KiB.
// expect[GNU]: error_over_budget<mtf::budgeted::bytes_sent, 131072, 65536>
// expect[Clang]: error_over_budget<mtf::budgeted::bytes_sent, 131072, 65536>
// expect[NVIDIA]: error_over_budget<
// expect: error: static assertion failed.*mtf: a plan is over its budget
#include "names.hpp"

using mtf::operator""_KiB;

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
constexpr auto total = [](auto const& x) { return mtf::exp(mtf::sum<batch>(x)); };
constexpr auto plan = mtf::plan_of<by_data>(total, mtf::input<double, batch, sequence, vocab>{});
#ifdef MTF_CONTROL
static_assert(mtf::within_budget<plan, mtf::budget{.bytes_sent = 128_KiB, .collectives = 1}>());
#else
static_assert(mtf::within_budget<plan, mtf::budget{.bytes_sent = 64_KiB, .collectives = 1}>());
#endif
