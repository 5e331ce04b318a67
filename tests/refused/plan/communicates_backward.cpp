// Forward nothing is sent; backward the gradient that enters the norm is completed.
// expect[GNU]: error_communicates<mtf::collective_kind::all_reduce, mtf::over<model>, mtf::pass::backward>
// expect[Clang]: error_communicates<mtf::collective_kind::all_reduce, mtf::over<model>, mtf::pass::backward>
// expect[NVIDIA]: error_communicates<.*model
// expect: error: static assertion failed.*mtf: a function inside without_communication communicates
#include "names.hpp"

struct times {
  template <class X, class Y>
  MTF_FUNCTION constexpr auto operator()(X x, Y y) const {
    return x * y;
  }
};
auto f(tensor<batch, digit> const& x, tensor<digit> const& gamma, tensor<digit, hidden> const& w) {
  auto const local = [](auto const& a, auto const& g, auto const& b) {
#ifdef MTF_CONTROL
    return mtf::einsum<batch, hidden>(mtf::map(times{}, a, g), b);  // the gradients may come out partial
#else
    return mtf::einsum<batch, hidden>(mtf::rms_norm<digit>(a, g), b);
#endif
  };
  return mtf::without_communication(local)(x, gamma, w);
}
