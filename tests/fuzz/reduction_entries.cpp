// Reductions and softmax.
#include "table.hpp"

namespace fuzz {

namespace {

using of = numbers_of_one const&;

definition sum() {
  return define::reduction([](tape& t, of x) { return t.sum(x); });
}
definition mean() {
  return define::reduction([](tape& t, of x) { return t.scale(t.sum(x), 1 / static_cast<double>(x.size())); });
}
/// The gradient goes to every element that equals the largest.
definition largest(double sign) {
  return define::reduction([sign](tape& t, of x) {
    double most = sign * t[x[0]].value;
    for (number const v : x) most = std::max(most, sign * t[v].value);
    numbers_of_one equal;
    double others = 0;
    for (number const v : x)
      if (t.sign(t.shift(v, -sign * most)) == 0) equal.push_back(v), others += equal.size() > 1 ? sign * most : 0;
    return t.shift(t.sum(equal), -others);
  });
}
definition product() {
  return define::reduction([](tape& t, of x) {
    number y = x[0];
    for (std::size_t i = 1; i < x.size(); ++i) y = t.multiply(y, x[i]);
    return y;
  });
}
definition weighted_mean() {
  return [](tape& t, operands const& x, dim_list const& out) {
    array y(out);
    each(out, {}, [&](position const& p) {
      numbers_of_one terms, weights;
      each(without(x[0]->dims, out), p, [&](position const& q) {
        terms.push_back(t.multiply((*x[0])[q], (*x[1])[q]));
        weights.push_back((*x[1])[q]);
      });
      number const total = t.sum(weights);
      t.above(total, 0.5);
      y[p] = t.divide(t.sum(terms), total);
    });
    return y;
  };
}

}  // namespace

template <class T>
void add_reductions(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  using abc = arg<T, a, b, c>;
  using ac = arg<T, a, c>;
  using ak = arg<T, a, k>;
  FUZZ_OF_ONE((abc), sum(), mtf::sum<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), sum(), mtf::sum<a, c>(x));
  FUZZ_OF_ONE((ab), sum(), mtf::sum<a>(x));
  FUZZ_OF_ONE((ab), sum(), mtf::sum(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), sum(), mtf::sum<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, b>), sum(), mtf::sum(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), mean(), mtf::mean<a>(x));
  FUZZ_OF_ONE((ac), mean(), mtf::mean<c>(x));
  FUZZ_OF_ONE((ab), mean(), mtf::mean(x));
  FUZZ_OF_TWO((ab, ab), weighted_mean(), mtf::weighted_mean<b>(x, y));
  FUZZ_OF_TWO((ab, arg<bool, a, b>), weighted_mean(), mtf::weighted_mean(x, y));
  FUZZ_OF_ONE((abc), largest(1), mtf::reduce_max<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ab), largest(1), mtf::reduce_max<a>(x));
  FUZZ_OF_ONE((bc), largest(-1), mtf::reduce_min<c>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ab), largest(-1), mtf::reduce_min(x));
  FUZZ_OF_ONE((abc), product(), mtf::reduce_prod<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ac), product(), mtf::reduce_prod<c>(x));
  FUZZ_OF_ONE((ab), define::softmax(1, 1), mtf::softmax<b>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::softmax(0, -0.5), mtf::softmax<a>(x, -0.5));
  FUZZ_OF_ONE((ak), define::softmax(4, 1), mtf::softmax<k>(x));
  FUZZ_OF_ONE((bc), define::softmax(2, 1, true), mtf::log_softmax<c>(x));
  if constexpr (more<T>) FUZZ_OF_ONE((ab), define::softmax(0, 1, true), mtf::log_softmax<a>(x));
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
  if constexpr (std::is_same_v<T, double>) {  // of what is large
    using aw = arg<T, a, wide>;
    FUZZ_OF_ONE((aw), mean(), mtf::mean<wide>(x));
    FUZZ_OF_ONE((aw), sum(), mtf::sum<a>(x));
  }
}
template void add_reductions<double>(table&);
template void add_reductions<float>(table&);
template void add_reductions<mtf::bfloat16>(table&);

}  // namespace fuzz
