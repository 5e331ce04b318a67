// Contractions.
#include "../definitions/contraction.hpp"
#include "entry.hpp"

namespace sweep {

namespace {

SWEEP_OF_TWO(matrix, (real<a, b>, real<b, c>), mtf::einsum<a, c>(x, y))
SWEEP_OF_TWO(turned, (real<a, b>, real<c, b>), mtf::einsum<c, a>(x, y))
SWEEP_OF_TWO(batched, (real<c, b, d>, real<c, d, e>), mtf::einsum<c, b, e>(x, y))
SWEEP_OF_TWO(two_contracted, (real<a, b, c>, real<c, d, b>), mtf::einsum<a, d>(x, y))
SWEEP_OF_TWO(to_scalar, (real<a, b>, real<b, a>), mtf::einsum<>(x, y))
SWEEP_OF_TWO(alone, (real<a, b, c>, real<b, d>), mtf::einsum<a, d>(x, y))
SWEEP_OF_TWO(pointwise_product, (real<a, b>, real<c, b>), mtf::einsum<c, b, a>(x, y))
SWEEP_OF_TWO(outer, (real<a>, real<b>), mtf::einsum<b, a>(x, y))
SWEEP_OF_ONE(of_one, (real<a, b, c>), mtf::einsum<c, a>(x))
SWEEP_OF_THREE(of_three, (real<a, b>, real<b, c>, real<c, d>), mtf::einsum<a, d>(x, y, z))
SWEEP_OF_THREE(of_three_batched, (real<b, c>, real<c, d, b>, real<d>), mtf::einsum<b>(x, y, z))

SWEEP_OF_THREE(biased, (real<a, b>, real<b, c>, real<c>), mtf::linear<a, c>(x, y, z))
SWEEP_OF_THREE(biased_parts_of_rows, (real<a, b>, real<b, c, d>, real<d>), mtf::linear<a, c, d>(x, y, z))
SWEEP_OF_THREE(biased_batches, (real<a, b, d>, real<d, c>, real<b>), mtf::linear<b, a, c>(x, y, z))

documentation const einsum{
    .names = {"einsum"},
    .call = "einsum<dims...>(x, y, ...)",
    .meaning =
        "The product of the operands, summed over the dimensions that are not named; more than two are contracted "
        "in pairs, in the order with the fewest multiplications.",
    .forward = "nothing; the result is partial over the axes that split a summed dimension",
    .backward =
        "nothing; the gradient of an operand is partial over the axes that split dimensions it lacks. A gradient "
        "that arrives partial over an axis that splits an operand is reduced: one all-reduce of the result",
    .partial = "stays partial where only one operand is and nothing else varies along those axes; else reduced"};

documentation const linear{
    .names = {"linear"},
    .call = "linear<dims...>(x, w, b)",
    .meaning =
        "`einsum<dims...>(x, w) + b`: where the product is complete and its rows are b's, the matrix product adds b "
        "itself.",
    .forward = "as the two: nothing while no summed dimension is split, else one all-reduce of the product",
    .backward = "as the two: the gradient of b is partial over the axes that split dimensions it lacks",
    .partial = "as for the two"};

template <class Op>
operation product(std::string name, closed_form sends) {
  return adding<Op>(std::move(name), einsum, define::contraction(), std::move(sends));
}
template <class Op>
operation product_and_bias(std::string name, closed_form sends) {
  return adding<Op>(std::move(name), linear, define::contraction(true), std::move(sends)).chains();
}

}  // namespace

std::vector<operation> contraction_operations() {
  constexpr auto linear_in_each = forms::through::multiplicative;
  return {
      product<matrix>("einsum<a, c>(x[a, b], y[b, c])", forms::contraction({0, 2})),
      product<turned>("einsum<c, a>(x[a, b], y[c, b])", forms::contraction({2, 0})),
      product<batched>("einsum<c, b, e>(x[c, b, d], y[c, d, e])", forms::contraction({2, 1, 4})),
      product<two_contracted>("einsum<a, d>(x[a, b, c], y[c, d, b])", forms::contraction({0, 3})),
      product<to_scalar>("einsum<>(x[a, b], y[b, a])", forms::contraction({})),
      product<alone>("einsum<a, d>(x[a, b, c], y[b, d])", forms::contraction({0, 3})).chains(),
      product<pointwise_product>("einsum<c, b, a>(x[a, b], y[c, b])", forms::elementwise(linear_in_each, {2, 1, 0})),
      product<outer>("einsum<b, a>(x[a], y[b])", forms::elementwise(linear_in_each, {1, 0})),
      product<of_one>("einsum<c, a>(x[a, b, c])", forms::sum(bit(1), {2, 0})),
      product<of_three>("einsum<a, d>(x[a, b], y[b, c], z[c, d])", forms::contractions({0, 3})).chains(),
      product<of_three_batched>("einsum<b>(x[b, c], y[c, d, b], z[d])", forms::contractions({1})).chains(),
      product_and_bias<biased>("linear<a, c>(x[a, b], y[b, c], z[c])", forms::linear({0, 2})),
      product_and_bias<biased_parts_of_rows>("linear<a, c, d>(x[a, b], y[b, c, d], z[d])", forms::linear({0, 2, 3})),
      product_and_bias<biased_batches>("linear<b, a, c>(x[a, b, d], y[d, c], z[b])", forms::linear({1, 0, 2})),
  };
}

}  // namespace sweep
