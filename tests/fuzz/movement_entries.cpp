// What moves, splits, names or converts elements.
#include "../definitions/movement.hpp"
#include "../definitions/reduction.hpp"
#include "../support/to_double.hpp"
#include "table.hpp"

#include <tuple>

#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>

namespace fuzz {

namespace {

/// b and c as one: no layout speaks of it.
struct bc_as_one : mtf::dim<"bc_as_one"> {};
/// a and then k as one.
struct a_and_k : mtf::dim<"a_and_k"> {};
struct two : mtf::dim<"two", 2> {};
/// The second operand.
void second(tape&, operands const& x, array& y) {
  each(y, [&](define::position const& p) { y[p] = (*x[1])[p]; });
}
/// As much of x and then y along these as a is long, from the second on.
void from_second(tape&, operands const& x, array& y) {
  each(y, [&](define::position const& p) {
    define::position q = p;
    int const i = p[0] + 1, n = y.extent[0];
    q[i < n ? 0 : 4] = i < n ? i : i - n;
    y[p] = (*x[i < n ? 0 : 1])[q];
  });
}
/// The same of y and then x.
void from_second_of_others(tape&, operands const& x, array& y) {
  each(y, [&](define::position const& p) {
    define::position q = p;
    int const i = p[0] + 1, n = y.extent[0];
    q[i < n ? 4 : 0] = i < n ? i : i - n;
    y[p] = (*x[i < n ? 1 : 0])[q];
  });
}

// Where a position comes from, along a dimension so long.
int two_before(int i, int n) { return ((i - 2) % n + n) % n; }
int one_after(int i, int) { return i + 1; }
int from_end(int i, int n) { return n - 1 - i; }
int first(int i, int) { return i; }

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
  FUZZ_OF_ONE((arg<T, k>), define::regrouped(4, 0, 3), mtf::split_dim<k, a, one>(x));
  FUZZ_OF_ONE((arg<T, a, one>), define::regrouped(4, 0, 3), mtf::merge_dims<a, one, k>(x));
  FUZZ_OF_ONE((abc), define::same(), mtf::split_dim<bc_as_one, b, c>(mtf::merge_dims<b, c, bc_as_one>(x)));
  FUZZ_OF_TWO((ab, arg<T, k, b>), from_second, mtf::slice<a_and_k, a>(mtf::concat<a_and_k, a, k>(x, y), 1));
  FUZZ_OF_TWO((ab, arg<T, k, b>), from_second_of_others,
              mtf::slice<a_and_k, a>(mtf::concat<a_and_k, a, k, a>(x, y, x), mtf::extent<a>(x) + 1));
  FUZZ_OF_TWO((ab, arg<T, b, a>), second, std::get<1>(mtf::unstacked<two>(mtf::stacked<two>(x, y))));
  FUZZ_OF_ONE((ab), define::taken_from(0, 0, two_before), mtf::roll<a>(x, 2));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::taken_from(1, 1, two_before), mtf::roll<b>(x, 2));
  FUZZ_OF_ONE((bc), define::taken_from(1, 1, one_after), mtf::shift<b>(x, -1));
  FUZZ_OF_ONE((abc), define::taken_from(0, 0, from_end), mtf::reverse<a>(x));
  FUZZ_OF_ONE((arg<T, a, one>), define::taken_from(3, 1, first), mtf::pad<one, b>(x, 0));
  FUZZ_OF_ONE((ab), define::taken_from(0, 4, from_end), mtf::slice<a, k>(x, mtf::extent<a>(x) - 1, -1));
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
