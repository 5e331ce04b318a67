// 513 all-reduces that no loop tells: more than a plan holds.
// expect[GNU]: error_too_many_collectives<513, 512>
// expect[Clang]: error_too_many_collectives<513, 512>
// expect[NVIDIA]: error_too_many_collectives<
// expect: error: static assertion failed.*mtf: a plan has more collectives than mtf::max_collectives
#include "names.hpp"

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
#ifdef MTF_CONTROL
constexpr int times = 512;
#else
constexpr int times = 513;
#endif
constexpr auto often = [](auto const& x) {
  for (int i = 0; i < times; ++i) static_cast<void>(mtf::complete(mtf::sum<batch>(x)));
};
constexpr auto plan = mtf::plan_of<by_data>(often, mtf::input<float, batch, vocab>{});
