// Rows of a table by number.
#include "define.hpp"

namespace sweep {

namespace {

SWEEP_OF_TWO(embedding, (real<a, c>, whole<b>), mtf::embedding<a>(x, y))
SWEEP_OF_TWO(embedding_turned, (real<d, a>, whole<c, b>), mtf::embedding<a>(x, y))

documentation const lookups{
    .names = {"embedding"},
    .call = "embedding<vocabulary>(table, ids)",
    .meaning = "The rows of the table that the ids name.",
    .forward = "nothing; the result is partial over the axes of the vocabulary",
    .backward =
        "nothing; the table's gradient is partial over the axes that split the ids. A gradient that arrives "
        "partial over the vocabulary's axes is reduced: one all-reduce of the result",
    .partial = "reduced"};

definition rows_of(std::size_t stride_of_row, std::size_t stride_in_row, std::size_t width) {
  return [=](std::vector<numbers> const& x) {
    numbers y;
    for (double const id : x[1])
      for (std::size_t k = 0; k < width; ++k)
        y.push_back(x[0][static_cast<std::size_t>(id) * stride_of_row + k * stride_in_row]);
    return y;
  };
}

}  // namespace

std::vector<operation> indexing_operations() {
  std::vector<operation> ops{
      adding<embedding>("embedding<a>(table[a, c], ids[b])", lookups, rows_of(C, 1, C), forms::embedding(0, {1, 2}))
          .drawn(0, A, 1),
      adding<embedding_turned>("embedding<a>(table[d, a], ids[c, b])", lookups, rows_of(1, A, D),
                               forms::embedding(0, {2, 1, 3}))
          .drawn(0, A, 1),
  };
  return ops;
}

}  // namespace sweep
