// Arithmetic, functions and comparisons of elements, of one tensor and of several.
#include <functional>

#include "../definitions/elementwise.hpp"
#include "../definitions/movement.hpp"
#include "../definitions/reduction.hpp"
#include "table.hpp"

#include <mtf/ops/reduction.hpp>

namespace fuzz {

namespace {

/// A user's own function.
struct blend {
  static constexpr char const* name = "blend";
  template <class X, class Y>
  auto operator()(X x, Y y) const {
    return x * y + x;
  }
};

}  // namespace

template <class T>
void add_elementwise(table& all) {
  using ab = arg<T, a, b>;
  using bc = arg<T, b, c>;
  using abc = arg<T, a, b, c>;
  // Of one.
  FUZZ_OF_ONE((ab), define::negated(), -x);
  FUZZ_OF_ONE((abc), define::scaled(0.75), x * 0.75);
  FUZZ_OF_ONE((arg<T, b>), define::scaled(-1.5), -1.5 * x);
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::scaled(0.5), x / 2);
  FUZZ_OF_ONE((ab), define::shifted(0.5), x + 0.5);
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::shifted(-0.25), x - 0.25);
  FUZZ_OF_ONE((arg<T, a>), define::subtracted_from(1), 1 - x);
  FUZZ_OF_ONE((ab), define::divided_into(1), 1 / x);
  FUZZ_OF_ONE((ab), define::pointwise(&tape::exp), mtf::exp(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::pointwise(&tape::exp), mtf::exp(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::log), mtf::log(x));
  FUZZ_OF_ONE((abc), define::pointwise(define::sqrt), mtf::sqrt(x));
  FUZZ_OF_ONE((arg<T, b>), define::pointwise(define::rsqrt), mtf::rsqrt(x));
  FUZZ_OF_ONE((ab), define::pointwise(&tape::tanh), mtf::tanh(x));
  if constexpr (more<T>) FUZZ_OF_ONE((bc), define::pointwise(&tape::tanh), mtf::tanh(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::pointwise(&tape::tanh), mtf::tanh(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, a, c>), define::pointwise(&tape::tanh), mtf::tanh(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T>), define::pointwise(&tape::tanh), mtf::tanh(x));
  FUZZ_OF_ONE((arg<T, k, b>), define::pointwise(&tape::sigmoid), mtf::sigmoid(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, a>), define::pointwise(&tape::sigmoid), mtf::sigmoid(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::softplus), mtf::softplus(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, c>), define::pointwise(define::softplus), mtf::softplus(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::relu), mtf::relu(x));
  if constexpr (more<T>) FUZZ_OF_ONE((abc), define::pointwise(define::relu), mtf::relu(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::gelu), mtf::gelu(x));
  FUZZ_OF_ONE((bc), define::pointwise(define::silu), mtf::silu(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::square), mtf::square(x));
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T>), define::pointwise(define::square), mtf::square(x));
  FUZZ_OF_ONE((bc), define::pointwise(&tape::abs), mtf::abs(x));
  FUZZ_OF_ONE((ab), define::clipped(-0.7, 0.6), mtf::clip(x, -0.7, 0.6));
  FUZZ_OF_ONE((arg<T, a, c>), define::raised(3), mtf::pow(x, 3));
  FUZZ_OF_ONE((ab), define::raised(1.5), mtf::pow(x, 1.5));
  FUZZ_OF_ONE((ab), define::pointwise(define::expm1), mtf::expm1(x));
  FUZZ_OF_ONE((bc), define::pointwise(define::log1p), mtf::log1p(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::sine), mtf::sin(x));
  FUZZ_OF_ONE((arg<T, b>), define::pointwise(define::cosine), mtf::cos(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::erf), mtf::erf(x));
  FUZZ_OF_ONE((abc), define::pointwise(define::gelu_erf), mtf::gelu_erf(x));
  FUZZ_OF_ONE((ab), define::exponential_linear(0.75), mtf::elu(x, 0.75));
  FUZZ_OF_ONE((bc), define::pointwise(define::selu), mtf::selu(x));
  FUZZ_OF_ONE((ab), define::leaky(0.125), mtf::leaky_relu(x, 0.125));
  FUZZ_OF_ONE((arg<T, a, c>), define::pointwise(define::reciprocal), mtf::reciprocal(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::sign), mtf::sign(x));
  FUZZ_OF_ONE((bc), define::pointwise(define::floor), mtf::floor(x));
  FUZZ_OF_ONE((arg<T, a>), define::pointwise(define::ceil), mtf::ceil(x));
  FUZZ_OF_ONE((ab), define::pointwise(define::round), mtf::round(x));
  FUZZ_OF_ONE((ab), define::remainder_of(0.75), x % 0.75);
  FUZZ_OF_ONE((arg<T, b>), define::floor_divided(-0.5), mtf::floor_divide(x, -0.5));
  FUZZ_OF_ONE((ab), define::compared(std::less<>{}, 0.25), x < 0.25);
  if constexpr (more<T>) FUZZ_OF_ONE((arg<T, a>), define::compared(std::greater_equal<>{}, 0), x >= 0);
  FUZZ_OF_ONE((arg<bool, a, b>), define::compared(std::equal_to<>{}, 0), !x);

  // Of several: repeated along what one lacks, in other orders.
  FUZZ_OF_TWO((ab, ab), define::pointwise(&tape::add), x + y);
  if constexpr (more<T>) FUZZ_OF_TWO((abc, abc), define::pointwise(&tape::add), x + y);
  if constexpr (more<T>) FUZZ_OF_TWO((bc, bc), define::pointwise(&tape::add), x + y);
  FUZZ_OF_TWO((arg<T, b>, arg<T, b>), define::pointwise(&tape::add), x + y);
  FUZZ_OF_TWO((arg<T>, arg<T>), define::pointwise(&tape::add), x + y);
  FUZZ_OF_TWO((ab, arg<T, b>), define::pointwise(&tape::add), x + y);
  if constexpr (more<T>) FUZZ_OF_TWO((arg<T, a>, ab), define::pointwise(&tape::add), x + y);
  if constexpr (more<T>) FUZZ_OF_TWO((abc, bc), define::pointwise(&tape::add), x + y);
  FUZZ_OF_TWO((ab, arg<T, b, a>), define::pointwise(&tape::subtract), x - y);
  if constexpr (more<T>) FUZZ_OF_TWO((ab, ab), define::pointwise(&tape::subtract), x - y);
  if constexpr (more<T>) FUZZ_OF_TWO((bc, arg<T, c>), define::pointwise(&tape::subtract), x - y);
  if constexpr (more<T>) FUZZ_OF_TWO((ab, ab), define::pointwise(&tape::multiply), x * y);
  FUZZ_OF_TWO((ab, arg<T, b>), define::pointwise(&tape::multiply), x * y);
  FUZZ_OF_TWO((ab, bc), define::pointwise(&tape::multiply), x * y);
  FUZZ_OF_TWO((arg<T>, ab), define::pointwise(&tape::multiply), x * y);
  if constexpr (more<T>) FUZZ_OF_TWO((abc, arg<T, a, c>), define::pointwise(&tape::multiply), x * y);
  if constexpr (more<T>) FUZZ_OF_TWO((arg<T, b>, arg<T, b>), define::pointwise(&tape::multiply), x * y);
  FUZZ_OF_TWO((ab, ab), define::pointwise(define::quotient), x / y);
  if constexpr (more<T>) FUZZ_OF_TWO((bc, arg<T, b>), define::pointwise(define::quotient), x / y);
  FUZZ_OF_TWO((ab, ab), define::pointwise(&tape::larger), mtf::max(x, y));
  FUZZ_OF_TWO((bc, arg<T, c>), define::pointwise(&tape::smaller), mtf::min(x, y));
  FUZZ_OF_TWO((ab, arg<T, b>), define::pointwise(define::pow), mtf::pow(x, y));
  FUZZ_OF_TWO((ab, ab), define::pointwise(define::logaddexp), mtf::logaddexp(x, y));
  FUZZ_OF_TWO((ab, arg<T, b>), define::pointwise(define::floor_divide), mtf::floor_divide(x, y));
  FUZZ_OF_TWO((bc, bc), define::pointwise(define::remainder), x % y);
  FUZZ_OF_TWO((arg<bool, a, b>, arg<bool, a>), define::pointwise(define::both), x && y);
  FUZZ_OF_TWO((arg<bool, a, b>, ab), define::pointwise(define::either), x || y);
  FUZZ_OF_TWO((ab, arg<T, a>),
              define::pointwise([](tape& t, number x, number y) { return t.add(t.multiply(x, y), x); }),
              mtf::map(blend{}, x, y));
  FUZZ_OF_TWO((ab, arg<T, b>), define::compared(std::greater<>{}), x > y);
  FUZZ_OF_THREE((arg<bool, a, b>, ab, arg<T, b>), define::pointwise(define::where), mtf::where(x, y, z));
  if constexpr (more<T>) FUZZ_OF_THREE((arg<bool, a>, ab, ab), define::pointwise(define::where), mtf::where(x, y, z));

  if constexpr (std::is_same_v<T, double>) {  // of what is large
    using aw = arg<T, a, wide>;
    FUZZ_OF_ONE((aw), define::pointwise(&tape::tanh), mtf::tanh(x));
    FUZZ_OF_TWO((aw, aw), define::pointwise(&tape::add), x + y);
    FUZZ_OF_TWO((aw, aw), define::pointwise(&tape::subtract), x - y);
    FUZZ_OF_TWO((aw, aw), define::pointwise(&tape::multiply), x * y);
    FUZZ_OF_TWO((aw, arg<T, wide>), define::pointwise(&tape::multiply), x * y);
  }
}
template void add_elementwise<double>(table&);
template void add_elementwise<float>(table&);
template void add_elementwise<mtf::bfloat16>(table&);

void add_integers(table& all) {
  using ab = arg<std::int32_t, a, b>;
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>), define::pointwise(&tape::add), x + y);

  FUZZ_OF_TWO((ab, ab), define::pointwise(&tape::multiply), x * y);
  FUZZ_OF_ONE((ab), define::shifted(-2), x - 2);
  FUZZ_OF_ONE((ab), define::remainder_of(-3), x % -3);
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::floor_divided(2), mtf::floor_divide(x, 2));
  FUZZ_OF_ONE((ab), define::pointwise(define::sign), mtf::sign(x));
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::scaled(2), 2 * x);
  FUZZ_OF_ONE((ab), define::sum(), mtf::sum<b>(x));
  FUZZ_OF_ONE((ab), define::largest(), mtf::reduce_max<b>(x));
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>), define::compared(std::less_equal<>{}), x <= y);
  FUZZ_OF_TWO((ab, arg<std::int32_t, a>), define::compared(std::equal_to<>{}), x == y);
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::compared(std::not_equal_to<>{}, 1), x != 1);
  FUZZ_OF_ONE((arg<bool, a, b>), define::sum(), mtf::sum<b>(x));
  FUZZ_OF_ONE((arg<bool, a, b>), define::largest(), mtf::reduce_max<b>(x));
  FUZZ_OF_ONE((arg<bool, a, b>), define::largest(), mtf::reduce_any<b>(x));
  FUZZ_OF_ONE((arg<bool, a, b>), define::smallest(), mtf::reduce_all<b>(x));
  FUZZ_OF_ONE((ab), define::same(), mtf::relayout<mtf::any_layout<1>>(x));
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::same(), mtf::relayout<mtf::any_layout<2>>(x));
  FUZZ_OF_ONE((arg<bool, a, b>), define::same(), mtf::relayout<mtf::any_layout<0>>(x));
  FUZZ_OF_ONE((arg<std::int32_t, a>), define::same(), mtf::cast<std::int64_t>(x));
  FUZZ_OF_ONE((arg<std::int64_t, a>), define::pointwise(define::square), mtf::square(x));
  FUZZ_OF_ONE((arg<std::int64_t, a>), define::same(), mtf::cast<double>(x));
}

}  // namespace fuzz
