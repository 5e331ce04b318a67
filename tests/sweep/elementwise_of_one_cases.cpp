// Functions of one tensor, element by element.
#include <functional>

#include "../definitions/elementwise.hpp"
#include "entry.hpp"

namespace sweep {

namespace {

SWEEP_OF_ONE(negate, (real<a, b, c>), -x)
SWEEP_OF_ONE(exp, (real<a, b, c>), mtf::exp(x))
SWEEP_OF_ONE(log, (real<a, b, c>), mtf::log(x))
SWEEP_OF_ONE(sqrt, (real<a, b, c>), mtf::sqrt(x))
SWEEP_OF_ONE(rsqrt, (real<a, b, c>), mtf::rsqrt(x))
SWEEP_OF_ONE(tanh, (real<a, b, c>), mtf::tanh(x))
SWEEP_OF_ONE(sigmoid, (real<a, b, c>), mtf::sigmoid(x))
SWEEP_OF_ONE(softplus, (real<a, b, c>), mtf::softplus(x))
SWEEP_OF_ONE(relu, (real<a, b, c>), mtf::relu(x))
SWEEP_OF_ONE(gelu, (real<a, b, c>), mtf::gelu(x))
SWEEP_OF_ONE(silu, (real<a, b, c>), mtf::silu(x))
SWEEP_OF_ONE(square, (real<a, b, c>), mtf::square(x))
SWEEP_OF_ONE(abs, (real<a, b, c>), mtf::abs(x))
SWEEP_OF_ONE(expm1, (real<a, b, c>), mtf::expm1(x))
SWEEP_OF_ONE(log1p, (real<a, b, c>), mtf::log1p(x))
SWEEP_OF_ONE(sin, (real<a, b, c>), mtf::sin(x))
SWEEP_OF_ONE(cos, (real<a, b, c>), mtf::cos(x))
SWEEP_OF_ONE(erf, (real<a, b, c>), mtf::erf(x))
SWEEP_OF_ONE(gelu_erf, (real<a, b, c>), mtf::gelu_erf(x))
SWEEP_OF_ONE(elu, (real<a, b, c>), mtf::elu(x, 0.75))
SWEEP_OF_ONE(selu, (real<a, b, c>), mtf::selu(x))
SWEEP_OF_ONE(leaky_relu, (real<a, b, c>), mtf::leaky_relu(x, 0.125))
SWEEP_OF_ONE(reciprocal, (real<a, b, c>), mtf::reciprocal(x))
SWEEP_OF_ONE(sign, (real<a, b, c>), mtf::sign(x))
SWEEP_OF_ONE(floor, (real<a, b, c>), mtf::floor(x))
SWEEP_OF_ONE(ceil, (real<a, b, c>), mtf::ceil(x))
SWEEP_OF_ONE(round, (real<a, b, c>), mtf::round(x))
SWEEP_OF_ONE(remainder_number, (real<a, b, c>), x % 0.75)
SWEEP_OF_ONE(floor_divide_number, (real<a, b, c>), mtf::floor_divide(x, -0.75))
SWEEP_OF_ONE(remainder_integers, (whole<a, b, c>), x % -3)
SWEEP_OF_ONE(power, (real<a, b, c>), mtf::pow(x, 1.5))
SWEEP_OF_ONE(whole_power, (real<a, b, c>), mtf::pow(x, -3))
SWEEP_OF_ONE(divide_integers, (whole<a, b, c>), x / 3)
SWEEP_OF_ONE(clip, (real<a, b, c>), mtf::clip(x, -0.5, 0.25))
SWEEP_OF_ONE(add_number, (real<a, b, c>), x + 0.75)
SWEEP_OF_ONE(number_add, (real<a, b, c>), 0.75 + x)
SWEEP_OF_ONE(subtract_number, (real<a, b, c>), x - 0.75)
SWEEP_OF_ONE(number_subtract, (real<a, b, c>), 0.75 - x)
SWEEP_OF_ONE(multiply_number, (real<a, b, c>), x * 0.75)
SWEEP_OF_ONE(number_multiply, (real<a, b, c>), 0.75 * x)
SWEEP_OF_ONE(divide_number, (real<a, b, c>), x / 0.75)
SWEEP_OF_ONE(number_divide, (real<a, b, c>), 0.75 / x)
SWEEP_OF_ONE(less_number, (real<a, b, c>), x < 0.25)
SWEEP_OF_ONE(greater_number, (real<a, b, c>), x > 0.25)
SWEEP_OF_ONE(less_equal_number, (real<a, b, c>), x <= 1.0)
SWEEP_OF_ONE(greater_equal_number, (real<a, b, c>), x >= 1.0)
SWEEP_OF_ONE(equal_number, (real<a, b, c>), x == 1.0)
SWEEP_OF_ONE(not_equal_number, (real<a, b, c>), x != 1.0)
SWEEP_OF_ONE(negation, (real<a, b, c>), !x)

documentation const functions{
    .names = {"exp",  "log",  "sqrt",     "rsqrt", "tanh", "sigmoid",    "softplus",  "relu",
              "gelu", "silu", "square",   "abs",   "clip", "expm1",      "log1p",     "sin",
              "cos",  "erf",  "gelu_erf", "elu",   "selu", "leaky_relu", "reciprocal"},
    .call =
        "exp(x) log(x) sqrt(x) rsqrt(x) tanh(x) sigmoid(x) softplus(x) relu(x) gelu(x) silu(x) square(x) abs(x) "
        "clip(x, low, high) expm1(x) log1p(x) sin(x) cos(x) erf(x) gelu_erf(x) elu(x, alpha) selu(x) "
        "leaky_relu(x, slope) reciprocal(x)",
    .meaning =
        "The function of every element; softplus is log(1 + e^x), gelu the tanh approximation, silu x sigmoid(x); "
        "gelu_erf is gelu as it is defined, by the error function; elu is alpha (e^x - 1) below 0, leaky_relu slope x. "
        "The gradients of relu and abs at 0 are 0, of elu alpha, of leaky_relu its slope, of clip at its bounds 1.",
    .forward = "nothing",
    .backward = "nothing",
    .partial = "reduced"};
documentation const steps{.names = {"sign", "floor", "ceil", "round"},
                          .call = "sign(x) floor(x) ceil(x) round(x)",
                          .meaning =
                              "-1, 0 or 1; the whole number below, above, or the nearest, of two the even one. The "
                              "gradient is 0.",
                          .forward = "nothing",
                          .backward = "nothing",
                          .partial = "reduced"};
documentation const shifts{.names = {"operator+", "operator-", "operator/", "operator%", "floor_divide", "pow"},
                           .call = "x + n, n + x, x - n, n - x, n / x, x % n, floor_divide(x, n), pow(x, n)",
                           .meaning =
                               "Arithmetic of every element with a number; integers divide as in C++, whole exponents "
                               "are products. floor_divide rounds down, x % n is what that leaves, with the sign of n, "
                               "as in Python.",
                           .forward = "nothing",
                           .backward = "nothing",
                           .partial = "reduced"};
documentation const scalings{.names = {"operator-", "operator*", "operator/"},
                             .call = "-x, x * n, n * x, x / n",
                             .meaning = "The tensor scaled by a number.",
                             .forward = "nothing",
                             .backward = "nothing",
                             .partial = "stays partial"};
documentation const comparisons{
    .names = {"operator<", "operator>", "operator<=", "operator>=", "operator==", "operator!=", "operator!"},
    .call = "x < n, x > n, x <= n, x >= n, x == n, x != n, !x",
    .meaning = "Whether it holds for every element: a tensor of bool. !x is x == 0.",
    .forward = "nothing",
    .backward = "has no gradient",
    .partial = "reduced"};

template <class Op>
operation entry(std::string name, documentation const& text, define::definition definition,
                forms::through how = forms::through::none) {
  return sweep::entry<Op>(std::move(name), text, std::move(definition), forms::elementwise(how, {0, 1, 2}));
}
template <class Op>
operation comparison(std::string name, define::definition definition) {
  return entry<Op>(std::move(name), comparisons, std::move(definition)).without_gradient();
}

}  // namespace

std::vector<operation> elementwise_of_one_operations() {
  using define::pointwise, define::compared, define::shifted, define::scaled;
  constexpr auto linear = forms::through::multiplicative;
  return {
      entry<negate>("-x", scalings, define::negated(), linear),
      entry<exp>("exp(x)", functions, pointwise(&define::tape::exp)),
      entry<log>("log(x)", functions, pointwise(define::log)).drawn(0.5, 2),
      entry<sqrt>("sqrt(x)", functions, pointwise(define::sqrt)).drawn(0.5, 2),
      entry<rsqrt>("rsqrt(x)", functions, pointwise(define::rsqrt)).drawn(0.5, 2),
      entry<tanh>("tanh(x)", functions, pointwise(&define::tape::tanh)),
      entry<sigmoid>("sigmoid(x)", functions, pointwise(&define::tape::sigmoid)),
      entry<softplus>("softplus(x)", functions, pointwise(define::softplus)),
      entry<relu>("relu(x)", functions, pointwise(define::relu)),
      entry<gelu>("gelu(x)", functions, pointwise(define::gelu)),
      entry<silu>("silu(x)", functions, pointwise(define::silu)),
      entry<square>("square(x)", functions, pointwise(define::square)),
      entry<abs>("abs(x)", functions, pointwise(&define::tape::abs)),
      entry<expm1>("expm1(x)", functions, pointwise(define::expm1)),
      entry<log1p>("log1p(x)", functions, pointwise(define::log1p)).drawn(-0.5, 2),
      entry<sin>("sin(x)", functions, pointwise(define::sine)),
      entry<cos>("cos(x)", functions, pointwise(define::cosine)),
      entry<erf>("erf(x)", functions, pointwise(define::erf)),
      entry<gelu_erf>("gelu_erf(x)", functions, pointwise(define::gelu_erf)),
      entry<elu>("elu(x, 0.75)", functions, define::exponential_linear(0.75)),
      entry<selu>("selu(x)", functions, pointwise(define::selu)),
      entry<leaky_relu>("leaky_relu(x, 0.125)", functions, define::leaky(0.125)),
      entry<reciprocal>("reciprocal(x)", functions, pointwise(define::reciprocal)).drawn(0.5, 2),
      entry<sign>("sign(x)", steps, pointwise(define::sign)),
      entry<floor>("floor(x)", steps, pointwise(define::floor)).drawn(-3, 3),
      entry<ceil>("ceil(x)", steps, pointwise(define::ceil)).drawn(-3, 3),
      entry<round>("round(x)", steps, pointwise(define::round)).drawn(-3, 3),
      entry<remainder_number>("x % 0.75", shifts, define::remainder_of(0.75)).drawn(-3, 3),
      entry<floor_divide_number>("floor_divide(x, -0.75)", shifts, define::floor_divided(-0.75)).drawn(-3, 3),
      entry<remainder_integers>("x % -3 of integers", shifts, define::remainder_of(-3))
          .drawn(-20, 20)
          .without_gradient(),
      entry<power>("pow(x, 1.5)", shifts, define::raised(1.5)).drawn(0.5, 2),
      entry<whole_power>("pow(x, -3)", shifts, define::raised(-3)).drawn(-2, -0.5),
      entry<divide_integers>("x / 3 of integers", shifts, define::divided_as_integers(3))
          .drawn(-20, 20)
          .without_gradient(),
      entry<clip>("clip(x, -0.5, 0.25)", functions, define::clipped(-0.5, 0.25)),
      entry<add_number>("x + 0.75", shifts, shifted(0.75)),
      entry<number_add>("0.75 + x", shifts, shifted(0.75)),
      entry<subtract_number>("x - 0.75", shifts, shifted(-0.75)),
      entry<number_subtract>("0.75 - x", shifts, define::subtracted_from(0.75)),
      entry<multiply_number>("x * 0.75", scalings, scaled(0.75), linear),
      entry<number_multiply>("0.75 * x", scalings, scaled(0.75), linear),
      entry<divide_number>("x / 0.75", scalings, scaled(1 / 0.75), linear),
      entry<number_divide>("0.75 / x", shifts, define::divided_into(0.75)).drawn(0.5, 2),
      comparison<less_number>("x < 0.25", compared(std::less<>{}, 0.25)),
      comparison<greater_number>("x > 0.25", compared(std::greater<>{}, 0.25)),
      comparison<less_equal_number>("x <= 1", compared(std::less_equal<>{}, 1)).drawn(0, 3).integers(),
      comparison<greater_equal_number>("x >= 1", compared(std::greater_equal<>{}, 1)).drawn(0, 3).integers(),
      comparison<equal_number>("x == 1", compared(std::equal_to<>{}, 1)).drawn(0, 3).integers(),
      comparison<not_equal_number>("x != 1", compared(std::not_equal_to<>{}, 1)).drawn(0, 3).integers(),
      comparison<negation>("!x", compared(std::equal_to<>{}, 0)).drawn(0, 3).integers(),
  };
}

}  // namespace sweep
