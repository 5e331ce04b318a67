// Contractions.
#include "define.hpp"

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
operation entry(std::string name, std::function<numbers(std::vector<numbers> const&)> define, closed_form sends,
                documentation const& text = einsum) {
  operation op = with_cases<Op>(std::move(name), text);
  op.define = std::move(define);
  op.sends = std::move(sends);
  op.sums = true;
  op.chained = op.in.size() > 2 || std::is_same_v<Op, alone>;
  return op;
}

}  // namespace

std::vector<operation> contraction_operations() {
  using all = std::vector<numbers> const&;
  return {
      entry<matrix>(
          "einsum<a, c>(x[a, b], y[b, c])",
          [](all x) {
            numbers y(A * C);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t k = 0; k < C; ++k)
                for (std::size_t j = 0; j < B; ++j) y[i * C + k] += x[0][i * B + j] * x[1][j * C + k];
            return y;
          },
          forms::contraction({0, 2})),
      entry<turned>(
          "einsum<c, a>(x[a, b], y[c, b])",
          [](all x) {
            numbers y(C * A);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t k = 0; k < C; ++k)
                for (std::size_t j = 0; j < B; ++j) y[k * A + i] += x[0][i * B + j] * x[1][k * B + j];
            return y;
          },
          forms::contraction({2, 0})),
      entry<batched>(
          "einsum<c, b, e>(x[c, b, d], y[c, d, e])",
          [](all x) {
            numbers y(C * B * E);
            for (std::size_t k = 0; k < C; ++k)
              for (std::size_t j = 0; j < B; ++j)
                for (std::size_t m = 0; m < E; ++m)
                  for (std::size_t l = 0; l < D; ++l)
                    y[(k * B + j) * E + m] += x[0][(k * B + j) * D + l] * x[1][(k * D + l) * E + m];
            return y;
          },
          forms::contraction({2, 1, 4})),
      entry<two_contracted>(
          "einsum<a, d>(x[a, b, c], y[c, d, b])",
          [](all x) {
            numbers y(A * D);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t l = 0; l < D; ++l)
                for (std::size_t j = 0; j < B; ++j)
                  for (std::size_t k = 0; k < C; ++k)
                    y[i * D + l] += x[0][(i * B + j) * C + k] * x[1][(k * D + l) * B + j];
            return y;
          },
          forms::contraction({0, 3})),
      entry<to_scalar>(
          "einsum<>(x[a, b], y[b, a])",
          [](all x) {
            numbers y(1);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t j = 0; j < B; ++j) y[0] += x[0][i * B + j] * x[1][j * A + i];
            return y;
          },
          forms::contraction({})),
      entry<alone>(
          "einsum<a, d>(x[a, b, c], y[b, d])",
          [](all x) {
            numbers y(A * D);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t l = 0; l < D; ++l)
                for (std::size_t j = 0; j < B; ++j)
                  for (std::size_t k = 0; k < C; ++k) y[i * D + l] += x[0][(i * B + j) * C + k] * x[1][j * D + l];
            return y;
          },
          forms::contraction({0, 3})),
      entry<pointwise_product>(
          "einsum<c, b, a>(x[a, b], y[c, b])",
          [](all x) {
            numbers y(C * B * A);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t j = 0; j < B; ++j)
                for (std::size_t k = 0; k < C; ++k) y[(k * B + j) * A + i] = x[0][i * B + j] * x[1][k * B + j];
            return y;
          },
          forms::elementwise(forms::through::multiplicative, {2, 1, 0})),
      entry<outer>(
          "einsum<b, a>(x[a], y[b])",
          [](all x) {
            numbers y(B * A);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t j = 0; j < B; ++j) y[j * A + i] = x[0][i] * x[1][j];
            return y;
          },
          forms::elementwise(forms::through::multiplicative, {1, 0})),
      entry<of_one>(
          "einsum<c, a>(x[a, b, c])",
          [](all x) {
            numbers y(C * A);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t j = 0; j < B; ++j)
                for (std::size_t k = 0; k < C; ++k) y[k * A + i] += x[0][(i * B + j) * C + k];
            return y;
          },
          forms::sum(bit(1), {2, 0})),
      entry<of_three>(
          "einsum<a, d>(x[a, b], y[b, c], z[c, d])",
          [](all x) {
            numbers y(A * D);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t l = 0; l < D; ++l)
                for (std::size_t j = 0; j < B; ++j)
                  for (std::size_t k = 0; k < C; ++k)
                    y[i * D + l] += x[0][i * B + j] * x[1][j * C + k] * x[2][k * D + l];
            return y;
          },
          forms::contractions({0, 3})),
      entry<of_three_batched>(
          "einsum<b>(x[b, c], y[c, d, b], z[d])",
          [](all x) {
            numbers y(B);
            for (std::size_t j = 0; j < B; ++j)
              for (std::size_t k = 0; k < C; ++k)
                for (std::size_t l = 0; l < D; ++l) y[j] += x[0][j * C + k] * x[1][(k * D + l) * B + j] * x[2][l];
            return y;
          },
          forms::contractions({1})),
      entry<biased>(
          "linear<a, c>(x[a, b], y[b, c], z[c])",
          [](all x) {
            numbers y(A * C);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t k = 0; k < C; ++k) {
                y[i * C + k] = x[2][k];
                for (std::size_t j = 0; j < B; ++j) y[i * C + k] += x[0][i * B + j] * x[1][j * C + k];
              }
            return y;
          },
          forms::linear({0, 2}), linear),
      entry<biased_parts_of_rows>(
          "linear<a, c, d>(x[a, b], y[b, c, d], z[d])",
          [](all x) {
            numbers y(A * C * D);
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t k = 0; k < C; ++k)
                for (std::size_t l = 0; l < D; ++l) {
                  double& to = y[(i * C + k) * D + l];
                  to = x[2][l];
                  for (std::size_t j = 0; j < B; ++j) to += x[0][i * B + j] * x[1][(j * C + k) * D + l];
                }
            return y;
          },
          forms::linear({0, 2, 3}), linear),
      entry<biased_batches>(
          "linear<b, a, c>(x[a, b, d], y[d, c], z[b])",
          [](all x) {
            numbers y(B * A * C);
            for (std::size_t j = 0; j < B; ++j)
              for (std::size_t i = 0; i < A; ++i)
                for (std::size_t k = 0; k < C; ++k) {
                  double& to = y[(j * A + i) * C + k];
                  to = x[2][j];
                  for (std::size_t l = 0; l < D; ++l) to += x[0][(i * B + j) * D + l] * x[1][l * C + k];
                }
            return y;
          },
          forms::linear({1, 0, 2}), linear),
  };
}

}  // namespace sweep
