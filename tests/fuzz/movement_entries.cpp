// What moves, splits, names or converts elements.
#include "../definitions/movement.hpp"
#include "../definitions/reduction.hpp"
#include "../support/to_double.hpp"
#include "table.hpp"

namespace fuzz {

namespace {

template <class T>
double round_to(double x) {
  return tests::to_double(tests::from_double<T>(x));
}

}  // namespace

template <class T>
void add_movements(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  using abc = arg<T, a, b, c>;
  using ac = arg<T, a, c>;
  // Every layout for the commonest, and some for others.
  FUZZ_OF_ONE((ab), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  FUZZ_OF_ONE((ab), define::same(), mtf::relayout<mtf::any_layout<1>>(x));
  FUZZ_OF_ONE((ab), define::same(), mtf::relayout<mtf::any_layout<2>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  FUZZ_OF_ONE((abc), define::same(), mtf::relayout<mtf::any_layout<1>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::same(), mtf::relayout<mtf::any_layout<2>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ac), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ac), define::same(), mtf::relayout<mtf::any_layout<1>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::same(), mtf::relayout<mtf::any_layout<2>>(x));
  FUZZ_OF_ONE((arg<T, b>), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, b>), define::same(), mtf::relayout<mtf::any_layout<1>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, a>), define::same(), mtf::relayout<mtf::any_layout<2>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, a, k>), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, k, b>), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  FUZZ_OF_ONE((ab), define::same(), mtf::complete(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::same(), mtf::complete(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T>), define::same(), mtf::complete(x));
  FUZZ_OF_ONE((ab), define::renamed(0, 4), mtf::rename<a, k>(x));
  FUZZ_OF_ONE((arg<T, k, b>), define::renamed(4, 0), mtf::rename<k, a>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, k>), define::renamed(4, 0), mtf::rename<k, a>(x));
  FUZZ_OF_ONE((ab), define::same(), mtf::transpose<b, a>(x));
  FUZZ_OF_ONE((arg<T, b, a>), define::same(), mtf::transpose<a, b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, c, a>), define::same(), mtf::transpose<a, c>(x));
  FUZZ_OF_ONE((abc), define::same(), mtf::transpose<c, a, b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, c, a, b>), define::same(), mtf::transpose<a, b, c>(x));
  FUZZ_OF_ONE((arg<T, a>), define::same(), mtf::broadcast<a, b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, b>), define::same(), mtf::broadcast<a, b, c>(x));
  FUZZ_OF_ONE((bc), define::same(), mtf::broadcast<a, b, c>(x));
  FUZZ_OF_ONE((arg<T, a>), define::same(), mtf::broadcast<a, one>(x));
  FUZZ_OF_ONE((arg<T, a, one>), define::sum(), mtf::sum<one>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T>), define::same(), mtf::broadcast<a>(x));
  FUZZ_OF_ONE((ab), define::stopped(), mtf::stop_gradient(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::stopped(), mtf::stop_gradient(x));
  // Conversions.
  if constexpr (!std::is_same_v<T, double>) {
    FUZZ_OF_ONE((ab), define::same(), mtf::cast<double>(x));
    FUZZ_OF_ONE((bc), define::same(), mtf::cast<double>(x));
    FUZZ_OF_ONE((arg<T>), define::same(), mtf::cast<double>(x));
  }
  if constexpr (!std::is_same_v<T, float>) {
    FUZZ_OF_ONE((ab), define::rounded(round_to<float>), mtf::cast<float>(x));
    FUZZ_OF_ONE((bc), define::rounded(round_to<float>), mtf::cast<float>(x));
    FUZZ_OF_ONE((arg<T>), define::rounded(round_to<float>), mtf::cast<float>(x));
  }
  if constexpr (!std::is_same_v<T, mtf::bfloat16>) {
    FUZZ_OF_ONE((ab), define::rounded(round_to<mtf::bfloat16>), mtf::cast<mtf::bfloat16>(x));
    FUZZ_OF_ONE((bc), define::rounded(round_to<mtf::bfloat16>), mtf::cast<mtf::bfloat16>(x));
    FUZZ_OF_ONE((arg<T>), define::rounded(round_to<mtf::bfloat16>), mtf::cast<mtf::bfloat16>(x));
  }
  FUZZ_OF_ONE((ab), define::truncated(), mtf::cast<std::int32_t>(x));
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::same(), mtf::cast<T>(x)).text =
      "mtf::cast<" + name_of_element<T> + ">(x)";
  FUZZ_OF_ONE((arg<bool, a, b>), define::same(), mtf::cast<T>(x)).text = "mtf::cast<" + name_of_element<T> + ">(x)";
  if constexpr (std::is_same_v<T, double>) {  // of what is large
    using aw = arg<T, a, wide>;
    FUZZ_OF_ONE((aw), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
    FUZZ_OF_ONE((aw), define::same(), mtf::relayout<mtf::any_layout<1>>(x));
    FUZZ_OF_ONE((aw), define::same(), mtf::relayout<mtf::any_layout<2>>(x));
    FUZZ_OF_ONE((arg<T, b, wide>), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  }
}
template void add_movements<double>(table&);
template void add_movements<float>(table&);
template void add_movements<mtf::bfloat16>(table&);

}  // namespace fuzz
