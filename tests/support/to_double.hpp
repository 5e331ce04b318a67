#pragma once
// Elements as doubles, and back. bfloat16 converts from and to float alone.
#include <mtf/core/element.hpp>

namespace tests {

template <class T>
double to_double(T x) {
  return static_cast<double>(static_cast<mtf::compute_t<T>>(x));
}
template <class T>
T from_double(double x) {
  return static_cast<T>(static_cast<mtf::compute_t<T>>(x));
}

}  // namespace tests
