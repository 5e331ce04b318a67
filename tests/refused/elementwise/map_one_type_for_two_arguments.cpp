// A gradient is wanted in one argument of a function whose arguments must have one type.
// expect[GNU]: error: call to non-'constexpr' function .*map_was_given_a_function_that_takes_no_dual_numbers
// expect[GNU]: map_one_type_for_two_arguments.cpp:
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
struct product {
  template <class A, class B>
  constexpr auto operator()(A a, B b) const {
    return a * b;
  }
};
#else
struct product {
  template <class T>
  constexpr auto operator()(T a, T b) const {
    return a * b;
  }
};
#endif

constexpr auto total = [](auto const& p, auto const& x) { return mtf::sum(mtf::map(product{}, p.w, x)); };
constexpr auto plan = mtf::plan_of<by_data>(total, mtf::parameters<weights>{}, mtf::input<float, batch>{});
