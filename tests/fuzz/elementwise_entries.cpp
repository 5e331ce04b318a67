// Arithmetic, functions and comparisons of elements, of one tensor and of several.
#include <cmath>

#include "table.hpp"

namespace fuzz {

namespace {

using of = numbers_of_one const&;

/// A user's own function.
struct blend {
  static constexpr char const* name = "blend";
  template <class X, class Y>
  auto operator()(X x, Y y) const {
    return x * y + x;
  }
};

number gelu(tape& t, number x) {
  number const cube = t.multiply(t.multiply(x, x), x);
  number const inner = t.scale(t.add(x, t.scale(cube, 0.044715)), std::sqrt(2 / std::acos(-1.0)));
  return t.scale(t.multiply(x, t.shift(t.tanh(inner), 1)), 0.5);
}
number positive(tape& t, number x) {
  t.above(x, 0.05);
  return x;
}
number away_from_zero(tape& t, number x) {
  t.above(t.constant(std::abs(t[x].value), 0, t[x].error), 0.1);
  return x;
}
number truth(tape& t, bool holds) { return t.constant(holds ? 1 : 0); }

}  // namespace

template <class T>
void add_elementwise(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  using abc = arg<T, a, b, c>;
  // Of one.
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.scale(x[0], -1); }), -x);
  FUZZ_OF_ONE((abc), define::pointwise([](tape& t, of x) { return t.scale(x[0], 0.75); }), x * 0.75);
  FUZZ_OF_ONE((arg<T, b>), define::pointwise([](tape& t, of x) { return t.scale(x[0], -1.5); }), -1.5 * x);
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::pointwise([](tape& t, of x) { return t.scale(x[0], 0.5); }), x / 2);
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.shift(x[0], 0.5); }), x + 0.5);
  if constexpr (more<T>)
    FUZZ_OF_ONE((bc), define::pointwise([](tape& t, of x) { return t.shift(x[0], -0.25); }), x - 0.25);
  FUZZ_OF_ONE((arg<T, a>), define::pointwise([](tape& t, of x) { return t.shift(t.scale(x[0], -1), 1); }), 1 - x);
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.inverse(away_from_zero(t, x[0])); }), 1 / x);
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.exp(x[0]); }), mtf::exp(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::pointwise([](tape& t, of x) { return t.exp(x[0]); }), mtf::exp(x));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.log(positive(t, x[0])); }), mtf::log(x));
  FUZZ_OF_ONE((abc), define::pointwise([](tape& t, of x) { return t.sqrt(positive(t, x[0])); }), mtf::sqrt(x));
  FUZZ_OF_ONE((arg<T, b>), define::pointwise([](tape& t, of x) { return t.inverse(t.sqrt(positive(t, x[0]))); }),
              mtf::rsqrt(x));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.tanh(x[0]); }), mtf::tanh(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::pointwise([](tape& t, of x) { return t.tanh(x[0]); }), mtf::tanh(x));
  if constexpr (more<T>)
    FUZZ_OF_ONE((abc), define::pointwise([](tape& t, of x) { return t.tanh(x[0]); }), mtf::tanh(x));
  if constexpr (more<T>)
    FUZZ_OF_ONE((arg<T, a, c>), define::pointwise([](tape& t, of x) { return t.tanh(x[0]); }), mtf::tanh(x));
  if constexpr (more<T>)
    FUZZ_OF_ONE((arg<T>), define::pointwise([](tape& t, of x) { return t.tanh(x[0]); }), mtf::tanh(x));
  FUZZ_OF_ONE((arg<T, k, b>), define::pointwise([](tape& t, of x) { return t.sigmoid(x[0]); }), mtf::sigmoid(x));
  if constexpr (more<T>)
    FUZZ_OF_ONE((arg<T, a>), define::pointwise([](tape& t, of x) { return t.sigmoid(x[0]); }), mtf::sigmoid(x));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.log(t.shift(t.exp(x[0]), 1)); }), mtf::softplus(x));
  if constexpr (more<T>)
    FUZZ_OF_ONE((arg<T, c>), define::pointwise([](tape& t, of x) { return t.log(t.shift(t.exp(x[0]), 1)); }),
                mtf::softplus(x));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.scale(x[0], t.sign(x[0]) > 0 ? 1 : 0); }),
              mtf::relu(x));
  if constexpr (more<T>)
    FUZZ_OF_ONE((abc), define::pointwise([](tape& t, of x) { return t.scale(x[0], t.sign(x[0]) > 0 ? 1 : 0); }),
                mtf::relu(x));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return gelu(t, x[0]); }), mtf::gelu(x));
  FUZZ_OF_ONE((bc), define::pointwise([](tape& t, of x) { return t.multiply(x[0], t.sigmoid(x[0])); }), mtf::silu(x));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[0]); }), mtf::square(x));
  if constexpr (more<T>)
    FUZZ_OF_ONE((arg<T>), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[0]); }), mtf::square(x));
  FUZZ_OF_ONE((bc), define::pointwise([](tape& t, of x) { return t.abs(x[0]); }), mtf::abs(x));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) {
                return t.sign(t.shift(x[0], 0.7)) < 0    ? t.constant(-0.7)
                       : t.sign(t.shift(x[0], -0.6)) > 0 ? t.constant(0.6)
                                                         : x[0];
              }),
              mtf::clip(x, -0.7, 0.6));
  FUZZ_OF_ONE((arg<T, a, c>), define::pointwise([](tape& t, of x) { return t.multiply(t.multiply(x[0], x[0]), x[0]); }),
              mtf::pow(x, 3));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.power(positive(t, x[0]), 1.5); }), mtf::pow(x, 1.5));
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return truth(t, t.sign(t.shift(x[0], -0.25)) < 0); }),
              x < 0.25);
  if constexpr (more<T>)
    FUZZ_OF_ONE((arg<T, a>), define::pointwise([](tape& t, of x) { return truth(t, t.sign(x[0]) >= 0); }), x >= 0);
  FUZZ_OF_ONE((arg<bool, a, b>), define::pointwise([](tape& t, of x) { return truth(t, t[x[0]].value == 0); }), !x);

  // Of several: repeated along what one lacks, in other orders.
  FUZZ_OF_TWO((ab, ab), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((abc, abc), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((bc, bc), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  FUZZ_OF_TWO((arg<T, b>, arg<T, b>), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  FUZZ_OF_TWO((arg<T>, arg<T>), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  FUZZ_OF_TWO((ab, arg<T, b>), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((arg<T, a>, ab), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((abc, bc), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
  FUZZ_OF_TWO((ab, arg<T, b, a>), define::pointwise([](tape& t, of x) { return t.subtract(x[0], x[1]); }), x - y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((ab, ab), define::pointwise([](tape& t, of x) { return t.subtract(x[0], x[1]); }), x - y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((bc, arg<T, c>), define::pointwise([](tape& t, of x) { return t.subtract(x[0], x[1]); }), x - y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((ab, ab), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  FUZZ_OF_TWO((ab, arg<T, b>), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  FUZZ_OF_TWO((ab, bc), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  FUZZ_OF_TWO((arg<T>, ab), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((abc, arg<T, a, c>), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((arg<T, b>, arg<T, b>), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  FUZZ_OF_TWO((ab, ab), define::pointwise([](tape& t, of x) { return t.divide(x[0], away_from_zero(t, x[1])); }),
              x / y);
  if constexpr (more<T>)
    FUZZ_OF_TWO((bc, arg<T, b>),
                define::pointwise([](tape& t, of x) { return t.divide(x[0], away_from_zero(t, x[1])); }), x / y);
  FUZZ_OF_TWO((ab, ab), define::pointwise([](tape& t, of x) { return t.larger(x[0], x[1]); }), mtf::max(x, y));
  FUZZ_OF_TWO((bc, arg<T, c>), define::pointwise([](tape& t, of x) {
                return t.scale(t.larger(t.scale(x[0], -1), t.scale(x[1], -1)), -1);
              }),
              mtf::min(x, y));
  FUZZ_OF_TWO((ab, arg<T, b>),
              define::pointwise([](tape& t, of x) { return t.exp(t.multiply(x[1], t.log(positive(t, x[0])))); }),
              mtf::pow(x, y));
  FUZZ_OF_TWO((ab, ab), define::pointwise([](tape& t, of x) {
                // log(e^x + e^y) as y + log(1 + e^(x - y)): the derivative by y is a difference, 1 less that by x.
                number const apart = t.subtract(x[0], x[1]);
                double const e = std::exp(t[apart].value), slope = e / (1 + e);
                return t.add(x[1], t.function(apart, std::log1p(e), slope, slope * (1 - slope), 1));
              }),
              mtf::logaddexp(x, y));
  FUZZ_OF_TWO((ab, arg<T, a>), define::pointwise([](tape& t, of x) { return t.add(t.multiply(x[0], x[1]), x[0]); }),
              mtf::map(blend{}, x, y));
  FUZZ_OF_TWO((ab, arg<T, b>),
              define::pointwise([](tape& t, of x) { return truth(t, t.sign(t.subtract(x[0], x[1])) > 0); }), x > y);
  FUZZ_OF_THREE((arg<bool, a, b>, ab, arg<T, b>),
                define::pointwise([](tape& t, of x) { return t[x[0]].value != 0 ? x[1] : x[2]; }), mtf::where(x, y, z));
  if constexpr (more<T>)
    FUZZ_OF_THREE((arg<bool, a>, ab, ab),
                  define::pointwise([](tape& t, of x) { return t[x[0]].value != 0 ? x[1] : x[2]; }),
                  mtf::where(x, y, z));

  if constexpr (std::is_same_v<T, double>) {  // of what is large
    using aw = arg<T, a, wide>;
    FUZZ_OF_ONE((aw), define::pointwise([](tape& t, of x) { return t.tanh(x[0]); }), mtf::tanh(x));
    FUZZ_OF_TWO((aw, aw), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);
    FUZZ_OF_TWO((aw, aw), define::pointwise([](tape& t, of x) { return t.subtract(x[0], x[1]); }), x - y);
    FUZZ_OF_TWO((aw, aw), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
    FUZZ_OF_TWO((aw, arg<T, wide>), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  }
}
template void add_elementwise<double>(table&);
template void add_elementwise<float>(table&);
template void add_elementwise<mtf::bfloat16>(table&);

void add_integers(table& all) {
  using ab = arg<std::int32_t, a, b>;
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>), define::pointwise([](tape& t, of x) { return t.add(x[0], x[1]); }), x + y);

  FUZZ_OF_TWO((ab, ab), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[1]); }), x * y);
  FUZZ_OF_ONE((ab), define::pointwise([](tape& t, of x) { return t.subtract(x[0], t.constant(2)); }), x - 2);
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::pointwise([](tape& t, of x) { return t.scale(x[0], 2); }), 2 * x);
  FUZZ_OF_ONE((ab), define::reduction([](tape& t, of x) { return t.sum(x); }), mtf::sum<b>(x));
  FUZZ_OF_ONE((ab), define::reduction([](tape& t, of x) {
                number most = x[0];
                for (number const v : x) most = t[v].value > t[most].value ? v : most;
                return most;
              }),
              mtf::reduce_max<b>(x));
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>),
              define::pointwise([](tape& t, of x) { return truth(t, t[x[0]].value <= t[x[1]].value); }), x <= y);
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>),
              define::pointwise([](tape& t, of x) { return truth(t, t[x[0]].value == t[x[1]].value); }), x == y);
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::pointwise([](tape& t, of x) { return truth(t, t[x[0]].value != 1); }),
              x != 1);
  FUZZ_OF_ONE((arg<bool, a, b>), define::reduction([](tape& t, of x) { return t.sum(x); }), mtf::sum<b>(x));
  FUZZ_OF_ONE((arg<bool, a, b>), define::reduction([](tape& t, of x) {
                bool any = false;
                for (number const v : x) any = any || t[v].value != 0;
                return truth(t, any);
              }),
              mtf::reduce_max<b>(x));
  FUZZ_OF_ONE((ab), define::same(), mtf::relayout<mtf::any_layout<1>>(x));
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::same(), mtf::relayout<mtf::any_layout<2>>(x));
  FUZZ_OF_ONE((arg<bool, a, b>), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::same(), mtf::cast<std::int64_t>(x));
  FUZZ_OF_ONE((arg<std::int64_t, a>), define::pointwise([](tape& t, of x) { return t.multiply(x[0], x[0]); }),
              mtf::square(x));
  FUZZ_OF_ONE((arg<std::int64_t, a>), define::same(), mtf::cast<double>(x));
}

}  // namespace fuzz
