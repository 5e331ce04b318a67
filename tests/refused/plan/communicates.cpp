// A contraction over a split dimension, completed inside a scope that forbids communication.
// expect[GNU]: error_communicates<mtf::collective_kind::all_reduce, mtf::over<model>, mtf::pass::forward>
// expect[Clang]: error_communicates<mtf::collective_kind::all_reduce, mtf::over<model>, mtf::pass::forward>
// expect[NVIDIA]: error_communicates<.*model
// expect: error: static assertion failed.*mtf: a function inside without_communication communicates
#include "names.hpp"

auto f(tensor<batch, hidden> const& x, tensor<hidden, digit> const& w) {
#ifdef MTF_CONTROL
  auto const local = [](auto const& a, auto const& b) { return mtf::einsum<batch, digit>(a, b); };
  return mtf::relu(mtf::without_communication(local)(x, w));
#else
  auto const local = [](auto const& a, auto const& b) { return mtf::relu(mtf::einsum<batch, digit>(a, b)); };
  return mtf::without_communication(local)(x, w);
#endif
}
