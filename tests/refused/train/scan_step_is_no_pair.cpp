// The body of a scan returns its state alone.
// expect[GNU]: error_step_is_no_pair<.*shape<batch>
// expect[Clang]: error_step_is_no_pair<.*shape<batch>
// expect[NVIDIA]: error_step_is_no_pair<
// expect: error: static assertion failed.*mtf: the body of a scan along a dimension returns mtf::scanned
#include "names.hpp"

#include <mtf/train/scan_time.hpp>

auto sums(tensor<batch> const& zero, tensor<sequence, batch> const& x) {
#ifdef MTF_CONTROL
  auto const step = [](auto const& sum, auto const& y, std::size_t) { return mtf::scanned{sum + y, sum}; };
#else
  auto const step = [](auto const& sum, auto const& y, std::size_t) { return sum + y; };
#endif
  return mtf::scan<sequence>(zero, x, step).carry;
}
