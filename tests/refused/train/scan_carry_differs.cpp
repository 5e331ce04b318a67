// The state of a scan becomes partial.
// expect[GNU]: error_carry_differs<.*partial<model>.*partial<>
// expect[Clang]: error_carry_differs<mtf::tensor<.*partial<model>>, mtf::tensor<
// expect[NVIDIA]: error_carry_differs<
// expect: error: static assertion failed.*mtf: the body of a scan along a dimension hands on a state of the type
#include "names.hpp"

#include <mtf/train/scan_time.hpp>

auto sums(tensor<batch> const& zero, tensor<sequence, batch, hidden> const& x) {
#ifdef MTF_CONTROL
  auto const step = [](auto const&, auto const& y, std::size_t) {
    return std::pair(mtf::complete(mtf::sum<hidden>(y)), y);
  };
#else
  auto const step = [](auto const&, auto const& y, std::size_t) { return std::pair(mtf::sum<hidden>(y), y); };
#endif
  return mtf::scan<sequence>(zero, x, step).carry;
}
