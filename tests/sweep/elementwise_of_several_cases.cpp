// Functions of two or three tensors, element by element, with broadcasting by name.
#include <functional>

#include "../definitions/elementwise.hpp"
#include "entry.hpp"

namespace sweep {

namespace {

/// A user's own, fused and differentiated by dual numbers.
struct fused {
  template <class X, class Y, class Z>
  MTF_FUNCTION auto operator()(X x, Y y, Z z) const {
    return mtf::math::silu(x * y) + mtf::math::tanh(z) * x;
  }
};

SWEEP_OF_TWO(add, (real<a, b, c>, real<a, b, c>), x + y)
SWEEP_OF_TWO(add_row, (real<a, b, c>, real<c>), x + y)
SWEEP_OF_TWO(add_to_row, (real<b>, real<b, a>), x + y)
SWEEP_OF_TWO(subtract, (real<a, b, c>, real<a, b, c>), x - y)
SWEEP_OF_TWO(subtract_scalar, (real<b, c>, real<>), x - y)
SWEEP_OF_TWO(multiply, (real<a, b, c>, real<a, b, c>), x* y)
SWEEP_OF_TWO(multiply_turned, (real<b, a>, real<a, b, c>), x* y)
SWEEP_OF_TWO(multiply_overlapping, (real<a, c>, real<c, d>), x* y)
SWEEP_OF_TWO(multiply_scalar, (real<>, real<a, b>), x* y)
SWEEP_OF_TWO(divide, (real<a, b>, real<a, b>), x / y)
SWEEP_OF_TWO(divide_row, (real<a, b, c>, real<b>), x / y)
SWEEP_OF_TWO(max, (real<a, b, c>, real<b>), mtf::max(x, y))
SWEEP_OF_TWO(min, (real<a, b>, real<a, b>), mtf::min(x, y))
SWEEP_OF_TWO(pow, (real<a, b>, real<b>), mtf::pow(x, y))
SWEEP_OF_TWO(logaddexp, (real<a, b>, real<b, a>), mtf::logaddexp(x, y))
SWEEP_OF_TWO(floor_divide, (real<a, b>, real<b, a>), mtf::floor_divide(x, y))
SWEEP_OF_TWO(floor_divide_integers, (whole<a, b>, whole<b>), mtf::floor_divide(x, y))
SWEEP_OF_TWO(remainder, (real<a, b, c>, real<b>), x % y)
SWEEP_OF_TWO(remainder_integers, (whole<a, b>, whole<b, a>), x % y)
SWEEP_OF_TWO(both, (real<a, b>, real<b>), x&& y)
SWEEP_OF_TWO(either, (whole<b>, real<a, b>), x || y)
SWEEP_OF_TWO(less, (real<a, b>, real<b>), x < y)
SWEEP_OF_TWO(greater, (real<a, b>, real<a, b>), x > y)
SWEEP_OF_TWO(less_equal, (real<a, b>, real<a, b>), x <= y)
SWEEP_OF_TWO(greater_equal, (real<b>, real<a, b>), x >= y)
SWEEP_OF_TWO(equal, (real<a, b>, real<a, b>), x == y)
SWEEP_OF_TWO(not_equal, (real<a, b>, real<b>), x != y)
SWEEP_OF_ONE(used_thrice, (real<a, b>), x* x + x)
SWEEP_OF_TWO(outer, (real<a>, real<b>), x* y)
SWEEP_OF_THREE(where, (real<a, b>, real<a, b, c>, real<c>), mtf::where(x > 0.0, y, z))
SWEEP_OF_THREE(map, (real<a, b, c>, real<c>, real<b, a>), mtf::map(fused{}, x, y, z))

documentation const sums{
    .names = {"operator+", "operator-"},
    .call = "x + y, x - y",
    .meaning = "The sum or difference, element by element; operands are repeated along the dimensions that they lack.",
    .forward = "nothing",
    .backward = "nothing; the gradient of an operand that lacks the dimension is partial over its axes",
    .partial = "stays partial where both are; else reduced"};
documentation const products{.names = {"operator*"},
                             .call = "x * y",
                             .meaning = "The product, element by element, likewise.",
                             .forward = "nothing",
                             .backward =
                                 "as for x + y; a gradient that arrives partial where an operand stayed so is "
                                 "reduced: one all-reduce of the result",
                             .partial =
                                 "stays partial where only one operand is and the other is not split there; else "
                                 "reduced. The other's gradient becomes partial there"};
documentation const quotients{.names = {"operator/"},
                              .call = "x / y",
                              .meaning = "The quotient, element by element, likewise.",
                              .forward = "nothing",
                              .backward = "as for x * y",
                              .partial = "x as in x * y; y is reduced"};
documentation const others{
    .names = {"max", "min", "pow", "logaddexp", "floor_divide", "operator%", "where", "map"},
    .call = "max(x, y) min(x, y) pow(x, y) logaddexp(x, y) floor_divide(x, y) x % y where(c, x, y) map(f, x, y, ...)",
    .meaning =
        "The function, element by element, likewise; pow for x > 0; logaddexp is log(e^x + e^y); floor_divide "
        "rounds down and has no gradient, x % y is what it leaves, with the sign of y, as in Python; f is the user's "
        "own. "
        "max and min are NaN where an operand is; where the two are equal, each gets half of the gradient. In max, min "
        "and "
        "where a number may stand for x or y.",
    .forward = "nothing",
    .backward = "as for x + y",
    .partial = "reduced, unless f says where it is linear"};
documentation const logicals{.names = {"operator&&", "operator||"},
                             .call = "x && y, x || y",
                             .meaning =
                                 "Whether both are true, or one is, element by element, likewise: a tensor of bool. "
                                 "Numbers are true where they are not 0.",
                             .forward = "nothing",
                             .backward = "has no gradient",
                             .partial = "reduced"};
documentation const comparisons{
    .names = {"operator<", "operator>", "operator<=", "operator>=", "operator==", "operator!="},
    .call = "x < y, x > y, x <= y, x >= y, x == y, x != y",
    .meaning = "Whether it holds, element by element, likewise: a tensor of bool.",
    .forward = "nothing",
    .backward = "has no gradient",
    .partial = "reduced"};

template <class Op>
operation entry(std::string name, documentation const& text, std::vector<int> out, define::definition definition,
                forms::through how = forms::through::none) {
  return sweep::entry<Op>(std::move(name), text, std::move(definition), forms::elementwise(how, std::move(out)));
}
template <class Op>
operation comparison(std::string name, define::definition definition) {
  return entry<Op>(std::move(name), comparisons, {0, 1}, std::move(definition)).without_gradient();
}
template <class Op>
operation comparison_of_integers(std::string name, define::definition definition) {
  return comparison<Op>(std::move(name), std::move(definition)).drawn(0, 3).integers().drawn(0, 3, 1).integers(1);
}

}  // namespace

std::vector<operation> elementwise_of_several_operations() {
  using enum forms::through;
  using define::pointwise, define::compared, define::tape, define::number;
  auto const plus = pointwise(&tape::add), minus = pointwise(&tape::subtract), times = pointwise(&tape::multiply),
             over = pointwise(define::quotient);
  std::vector<operation> all{
      entry<add>("x + y", sums, {0, 1, 2}, plus, additive),
      entry<add_row>("x + row", sums, {0, 1, 2}, plus, additive),
      entry<add_to_row>("row + x", sums, {1, 0}, plus, additive),
      entry<subtract>("x - y", sums, {0, 1, 2}, minus, additive),
      entry<subtract_scalar>("x - scalar", sums, {1, 2}, minus, additive),
      entry<multiply>("x * y", products, {0, 1, 2}, times, multiplicative),
      entry<multiply_turned>("turned * x", products, {0, 1, 2}, times, multiplicative),
      entry<multiply_overlapping>("x[a, c] * y[c, d]", products, {0, 2, 3}, times, multiplicative),
      entry<multiply_scalar>("scalar * x", products, {0, 1}, times, multiplicative),
      entry<divide>("x / y", quotients, {0, 1}, over, first).drawn(0.5, 2, 1),
      entry<divide_row>("x / row", quotients, {0, 1, 2}, over, first).drawn(0.5, 2, 1),
      entry<max>("max(x, row)", others, {0, 1, 2}, pointwise(&tape::larger)),
      entry<min>("min(x, y)", others, {0, 1}, pointwise(&tape::smaller)),
      entry<pow>("pow(x, row)", others, {0, 1}, pointwise(define::pow)).drawn(0.5, 2).drawn(0.25, 2, 1),
      entry<logaddexp>("logaddexp(x, turned)", others, {0, 1}, pointwise(define::logaddexp)),
      entry<floor_divide>("floor_divide(x, turned)", others, {0, 1}, pointwise(define::floor_divide))
          .drawn(-3, 3)
          .drawn(0.5, 2, 1),
      entry<floor_divide_integers>("floor_divide(x, row) of integers", others, {0, 1}, pointwise(define::floor_divide))
          .drawn(-20, 20)
          .drawn(-4, -1, 1)
          .without_gradient(),
      entry<remainder>("x % row", others, {0, 1, 2}, pointwise(define::remainder)).drawn(-3, 3).drawn(0.5, 2, 1),
      entry<remainder_integers>("x % turned of integers", others, {0, 1}, pointwise(define::remainder))
          .drawn(-20, 20)
          .drawn(-4, -1, 1)
          .without_gradient(),
      entry<both>("x && row", logicals, {0, 1}, pointwise(define::both))
          .drawn(0, 2)
          .integers()
          .drawn(0, 2, 1)
          .integers(1)
          .without_gradient(),
      entry<either>("row || x", logicals, {0, 1}, pointwise(define::either))
          .drawn(0, 2)
          .integers()
          .drawn(0, 2, 1)
          .integers(1)
          .without_gradient(),
      comparison<less>("x < row", compared(std::less<>{})),
      comparison<greater>("x > y", compared(std::greater<>{})),
      comparison_of_integers<less_equal>("x <= y", compared(std::less_equal<>{})),
      comparison_of_integers<greater_equal>("row >= x", compared(std::greater_equal<>{})),
      comparison_of_integers<equal>("x == y", compared(std::equal_to<>{})),
      comparison_of_integers<not_equal>("x != row", compared(std::not_equal_to<>{})),
      // One tensor in several places: reduced once, its gradients added before anything is sent.
      sweep::entry<used_thrice>("x * x + x", products,
                                pointwise([](tape& t, number x) { return t.add(t.multiply(x, x), x); }),
                                forms::complete()),
  };
  operation never = entry<outer>("x[a] * y[b]", products, {0, 1}, times, multiplicative);
  never.never_works = true;
  all.push_back(std::move(never));
  all.push_back(
      sweep::entry<where>("where(x > 0, y, row)", others,
                          pointwise([](tape& t, number x, number y, number z) { return t.sign(x) > 0 ? y : z; }),
                          [form = forms::elementwise(none, {0, 1, 2})](situation const& s) {
                            answer a = form(s);
                            a.gradients[0] = 0;  // nothing flows into a condition
                            return a;
                          }));
  all.push_back(
      entry<map>("map(f, x, row, turned)", others, {0, 1, 2}, pointwise([](tape& t, number x, number y, number z) {
                   return t.add(define::silu(t, t.multiply(x, y)), t.multiply(t.tanh(z), x));
                 })));
  return all;
}

}  // namespace sweep
