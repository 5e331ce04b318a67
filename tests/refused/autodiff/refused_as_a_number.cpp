// After one mistake its result goes wherever a number may: nothing more is said.
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include <cmath>
#include <iostream>
#include <string>

#include "names.hpp"

#ifdef MTF_CONTROL
auto mean_of(tensor<batch, hidden> const& x) { return mtf::item(mtf::mean(x)); }
#else
auto mean_of(tensor<batch, hidden> const& x) { return mtf::mean<vocab>(x); }
#endif

void f(tensor<batch, hidden> const& x) {
  auto const mean = mean_of(x);
  double total = 0;
  total += mean;
  total += std::sqrt(mean) + std::abs(mean);
  std::cout << mean << std::to_string(mean) << total;
  static_cast<void>(mtf::where(x > mean, x, 0.0F) + mtf::clip(x, mean, mean) * mtf::max(x, mean));
}
