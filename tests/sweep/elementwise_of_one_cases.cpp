// Functions of one tensor, element by element.
#include <cmath>

#include "define.hpp"

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
    .names = {"exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "softplus", "relu", "gelu", "silu", "square", "abs",
              "clip"},
    .call =
        "exp(x) log(x) sqrt(x) rsqrt(x) tanh(x) sigmoid(x) softplus(x) relu(x) gelu(x) silu(x) square(x) abs(x) "
        "clip(x, low, high)",
    .meaning =
        "The function of every element; softplus is log(1 + e^x), gelu the tanh approximation, silu x sigmoid(x). The "
        "gradients of relu and abs at 0 are 0, of clip at its bounds 1.",
    .forward = "nothing",
    .backward = "nothing",
    .partial = "reduced"};
documentation const shifts{.names = {"operator+", "operator-", "operator/", "pow"},
                           .call = "x + n, n + x, x - n, n - x, n / x, pow(x, n)",
                           .meaning =
                               "Arithmetic of every element with a number; integers divide as in C++, whole exponents "
                               "are products.",
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
operation entry(std::string name, documentation const& text, double (*f)(double), double low = -1, double high = 1,
                forms::through how = forms::through::none) {
  operation op = with_cases<Op>(std::move(name), text);
  op.in[0].low = low;
  op.in[0].high = high;
  op.in[0].grid = 1.0 / 512;
  pointwise({0, 1, 2}, {{0, 1, 2}}, [f](std::vector<double> const& x) { return f(x[0]); }).define(op);
  op.sends = forms::elementwise(how, {0, 1, 2});
  return op;
}
template <class Op>
operation comparison(std::string name, double (*f)(double), bool integers) {
  operation op = entry<Op>(std::move(name), comparisons, f, integers ? 0 : -1, integers ? 3 : 1);
  op.in[0].integers = integers;
  op.in[0].grid = 0;
  op.differentiable = false;
  return op;
}

template <class Op>
operation integers(std::string name, documentation const& text, double (*f)(double)) {
  operation op = entry<Op>(std::move(name), text, f, -20, 20);
  op.in[0].grid = 0;
  op.differentiable = false;
  return op;
}

}  // namespace

std::vector<operation> elementwise_of_one_operations() {
  constexpr auto scaled = forms::through::multiplicative;
  return {
      entry<negate>(
          "-x", scalings, [](double x) { return -x; }, -1, 1, scaled),
      entry<exp>("exp(x)", functions, [](double x) { return std::exp(x); }),
      entry<log>(
          "log(x)", functions, [](double x) { return std::log(x); }, 0.5, 2),
      entry<sqrt>(
          "sqrt(x)", functions, [](double x) { return std::sqrt(x); }, 0.5, 2),
      entry<rsqrt>(
          "rsqrt(x)", functions, [](double x) { return 1 / std::sqrt(x); }, 0.5, 2),
      entry<tanh>("tanh(x)", functions, [](double x) { return std::tanh(x); }),
      entry<sigmoid>("sigmoid(x)", functions, [](double x) { return 1 / (1 + std::exp(-x)); }),
      entry<softplus>("softplus(x)", functions, [](double x) { return std::log1p(std::exp(x)); }),
      entry<relu>("relu(x)", functions, [](double x) { return x <= 0 ? 0 : x; }),
      entry<gelu>("gelu(x)", functions,
                  [](double x) {
                    return x / 2 * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
                  }),
      entry<silu>("silu(x)", functions, [](double x) { return x / (1 + std::exp(-x)); }),
      entry<square>("square(x)", functions, [](double x) { return x * x; }),
      entry<abs>("abs(x)", functions, [](double x) { return std::fabs(x); }),
      entry<power>(
          "pow(x, 1.5)", shifts, [](double x) { return std::pow(x, 1.5); }, 0.5, 2),
      entry<whole_power>(
          "pow(x, -3)", shifts, [](double x) { return 1 / (x * x * x); }, -2, -0.5),
      integers<divide_integers>("x / 3 of integers", shifts, [](double x) { return std::trunc(x / 3); }),
      entry<clip>("clip(x, -0.5, 0.25)", functions, [](double x) { return x < -0.5   ? -0.5
                                                                          : x > 0.25 ? 0.25
                                                                                     : x; }),
      entry<add_number>("x + 0.75", shifts, [](double x) { return x + 0.75; }),
      entry<number_add>("0.75 + x", shifts, [](double x) { return x + 0.75; }),
      entry<subtract_number>("x - 0.75", shifts, [](double x) { return x - 0.75; }),
      entry<number_subtract>("0.75 - x", shifts, [](double x) { return 0.75 - x; }),
      entry<multiply_number>(
          "x * 0.75", scalings, [](double x) { return x * 0.75; }, -1, 1, scaled),
      entry<number_multiply>(
          "0.75 * x", scalings, [](double x) { return x * 0.75; }, -1, 1, scaled),
      entry<divide_number>(
          "x / 0.75", scalings, [](double x) { return x / 0.75; }, -1, 1, scaled),
      entry<number_divide>(
          "0.75 / x", shifts, [](double x) { return 0.75 / x; }, 0.5, 2),
      comparison<less_number>(
          "x < 0.25", [](double x) { return x < 0.25 ? 1.0 : 0.0; }, false),
      comparison<greater_number>(
          "x > 0.25", [](double x) { return x > 0.25 ? 1.0 : 0.0; }, false),
      comparison<less_equal_number>(
          "x <= 1", [](double x) { return x <= 1 ? 1.0 : 0.0; }, true),
      comparison<greater_equal_number>(
          "x >= 1", [](double x) { return x >= 1 ? 1.0 : 0.0; }, true),
      comparison<equal_number>(
          "x == 1", [](double x) { return x == 1 ? 1.0 : 0.0; }, true),
      comparison<not_equal_number>(
          "x != 1", [](double x) { return x != 1 ? 1.0 : 0.0; }, true),
      comparison<negation>(
          "!x", [](double x) { return x == 0 ? 1.0 : 0.0; }, true),
  };
}

}  // namespace sweep
