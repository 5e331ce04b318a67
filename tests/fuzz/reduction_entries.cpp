// Reductions and softmax.
#include "../definitions/reduction.hpp"
#include "table.hpp"

#include <mtf/ops/cumulative.hpp>
#include <mtf/ops/reduction.hpp>

namespace fuzz {

template <class T>
void add_reductions(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  using abc = arg<T, a, b, c>;
  using ac = arg<T, a, c>;
  using ak = arg<T, a, k>;
  FUZZ_OF_ONE((abc), define::sum(), mtf::sum<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::sum(), mtf::sum<a, c>(x));
  FUZZ_OF_ONE((ab), define::sum(), mtf::sum<a>(x));
  FUZZ_OF_ONE((ab), define::sum(), mtf::sum(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::sum(), mtf::sum<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, b>), define::sum(), mtf::sum(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::mean(), mtf::mean<a>(x));
  FUZZ_OF_ONE((ac), define::mean(), mtf::mean<c>(x));
  FUZZ_OF_ONE((ab), define::mean(), mtf::mean(x));
  FUZZ_OF_ONE((abc), define::variance(), mtf::variance<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ab), define::variance(), mtf::variance(x));
  FUZZ_OF_TWO((ab, ab), define::weighted_mean(), mtf::weighted_mean<b>(x, y));
  FUZZ_OF_TWO((ab, arg<bool, a, b>), define::weighted_mean(), mtf::weighted_mean(x, y));
  FUZZ_OF_ONE((abc), define::largest(), mtf::reduce_max<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ab), define::largest(), mtf::reduce_max<a>(x));
  FUZZ_OF_ONE((bc), define::smallest(), mtf::reduce_min<c>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ab), define::smallest(), mtf::reduce_min(x));
  FUZZ_OF_ONE((abc), define::product(), mtf::reduce_prod<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ac), define::product(), mtf::reduce_prod<c>(x));
  FUZZ_OF_ONE((ab), define::softmax(1), mtf::softmax<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::softmax(0, -0.5), mtf::softmax<a>(x, -0.5));
  FUZZ_OF_ONE((ak), define::softmax(4), mtf::softmax<k>(x));
  FUZZ_OF_ONE((bc), define::log_softmax(2), mtf::log_softmax<c>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ab), define::log_softmax(0), mtf::log_softmax<a>(x));
  FUZZ_OF_ONE((ak),
              define::masked_softmax(
                  0, 4, [](int i, int j) { return j <= i; }, 0.8),
              mtf::masked_softmax<a, k>(x, mtf::visible::causal(), 0.8));
  FUZZ_OF_ONE((ak),
              define::masked_softmax(
                  0, 4, [](int i, int j) { return j <= i - 1 && j > i - 3; }, 0.8),
              mtf::masked_softmax<a, k>(x, mtf::visible::window(2, -1), 0.8));
  FUZZ_OF_TWO((ak, arg<std::int32_t, a>),
              define::masked_softmax(
                  0, 4, [](int i, int j) { return j <= i + 2; }, 0.8),
              mtf::masked_softmax<a, k>(x, mtf::visible::causal(2), y, 0.8));
  FUZZ_OF_ONE((ab), define::logsumexp(), mtf::logsumexp<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::logsumexp(), mtf::logsumexp<a>(x));
  using mtf::cumulative;
  FUZZ_OF_ONE((ab), define::running_sum(1, {}), mtf::cumulative_sum<b>(x));
  FUZZ_OF_ONE((abc), (define::running_sum(0, {true, true})), mtf::cumulative_sum<a>(x, cumulative::reverse_exclusive));
  FUZZ_OF_ONE((ab), define::running_product(0, {}), mtf::cumulative_prod<a>(x));
  FUZZ_OF_ONE((bc), (define::running_product(1, {true, false})), mtf::cumulative_prod<b>(x, cumulative::reverse));
  FUZZ_OF_ONE((ab), define::running_largest(1, {}), mtf::cumulative_max<b>(x));
  FUZZ_OF_ONE((ac), (define::running_largest(0, {true, false})), mtf::cumulative_max<a>(x, cumulative::reverse));
  if constexpr (std::is_same_v<T, double>) {  // of what is large
    using aw = arg<T, a, wide>;
    FUZZ_OF_ONE((aw), define::mean(), mtf::mean<wide>(x));
    FUZZ_OF_ONE((aw), define::sum(), mtf::sum<a>(x));
  }
}
template void add_reductions<double>(table&);
template void add_reductions<float>(table&);
template void add_reductions<mtf::bfloat16>(table&);

}  // namespace fuzz
