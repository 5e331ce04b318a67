// A gradient is wanted through a function of plain numbers.
// expect[GNU]: error: call to non-'constexpr' function .*map_was_given_a_function_that_takes_no_dual_numbers
// expect[GNU]: map_of_a_plain_function.cpp:
// expect[Clang]: error: constexpr variable 'what_the_planned_function_does' must be initialized by a constant expression
// expect[Clang]: note: non-constexpr function 'map_was_given_a_function_that_takes_no_dual_numbers'
// expect[NVIDIA]: must have a constant value
#include "names.hpp"

using by_data = mtf::layout<machine, mtf::split<batch, data>>;
template <template <class...> class Tensor>
struct weights {
  Tensor<batch> w;
  MTF_FIELDS(w);
};

#ifdef MTF_CONTROL
auto const square = [](auto x) { return x * x; };
#else
auto const square = [](float x) { return x * x; };
#endif

constexpr auto total = [](auto const& p) { return mtf::sum(mtf::map(decltype(square){}, p.w)); };
constexpr auto plan = mtf::plan_of<by_data>(total, mtf::parameters<weights>{});
