// A planned function captures.
// expect[GNU]: error_captures<.*lambda
// expect[Clang]: error_captures<.*lambda
// expect[NVIDIA]: error_captures<
// expect: error: static assertion failed.*mtf: a function that runs in a constant expression must capture nothing
#include "names.hpp"

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
void f() {
  constexpr double factor = 0.5;
#ifdef MTF_CONTROL
  constexpr auto plan =
      mtf::plan_of<by_data>([](auto const& x) { return mtf::relu(x * factor); }, mtf::input<float, batch, hidden>{});
#else
  constexpr auto plan =
      mtf::plan_of<by_data>([factor](auto const& x) { return mtf::relu(x * factor); }, mtf::input<float, batch, hidden>{});
#endif
  static_assert(plan.count() == 0);
}
