// A scan goes along a dimension that is split.
// expect[GNU]: error_scanned_is_split<batch, .*data
// expect[Clang]: error_scanned_is_split<batch, .*data
// expect[NVIDIA]: error_scanned_is_split<
// expect: error: static assertion failed.*mtf: scan takes one position of a dimension after the other
#include "names.hpp"

#include <mtf/train/scan_time.hpp>

auto sums(tensor<digit> const& zero, tensor<batch, digit> const& x) {
  auto const step = [](auto const& sum, auto const& y, std::size_t) { return std::pair(sum + y, sum + y); };
#ifdef MTF_CONTROL
  using whole = mtf::layout<machine>;
  return mtf::scan<batch>(zero, mtf::relayout<whole>(x), step).result;
#else
  return mtf::scan<batch>(zero, x, step).result;
#endif
}
