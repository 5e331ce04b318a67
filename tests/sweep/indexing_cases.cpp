// Rows of a table by number.
#include <cmath>
#include <cstddef>

#include "define.hpp"

#include <mtf/ops/indexing.hpp>

namespace sweep {

namespace {

SWEEP_OF_TWO(embedding, (real<a, c>, whole<b>), mtf::embedding<a>(x, y))
SWEEP_OF_TWO(embedding_turned, (real<d, a>, whole<c, b>), mtf::embedding<a>(x, y))

SWEEP_OF_TWO(slice_first, (real<a, c>, whole<>), mtf::slice<a, d>(x, y))
SWEEP_OF_TWO(slice_within, (real<a, b, d>, whole<>), mtf::slice<b, c>(x, y))
SWEEP_OF_THREE(update_first, (real<a, c>, real<c, d>, whole<>), mtf::update<a, d>(x, y, z))
SWEEP_OF_THREE(update_last, (real<d, b>, real<d, c>, whole<>), mtf::update<b, c>(x, y, z))

documentation const slices{
    .names = {"slice"},
    .call = "slice<dim, part>(x, start)",
    .meaning =
        "The positions of dim from start on, an int32, as many as part is long; NaN beyond the ends. Part is not "
        "split.",
    .forward = "nothing; the result is partial over the axes of dim",
    .backward = "nothing. A gradient that arrives partial over dim's axes is reduced: one all-reduce of the result",
    .partial = "stays partial"};
documentation const updates{
    .names = {"update"},
    .call = "update<dim, part>(x, y, start)",
    .meaning = "x with y in the positions of dim from start on, in place where x is an rvalue that nobody else holds.",
    .forward = "nothing for dim; y split along part: what a relayout sends to gather it",
    .backward = "nothing for dim, y's gradient is partial over its axes; along part the reverse of forward",
    .partial = "stays partial where x and y are; else reduced"};

std::size_t at_least_one(std::size_t whole, std::size_t part) { return whole > part ? whole - part + 1 : 1; }
/// Of x, [outer, whole, inner], the positions from start on: f(position in x, or -1, position in the part).
template <class F>
void each_of_part(std::size_t outer, std::size_t whole, std::size_t part, std::size_t inner, double start, F f) {
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t j = 0; j < part; ++j)
      for (std::size_t i = 0; i < inner; ++i) {
        auto const at = static_cast<std::ptrdiff_t>(start) + static_cast<std::ptrdiff_t>(j);
        bool const there = at >= 0 && at < static_cast<std::ptrdiff_t>(whole);
        f(there ? static_cast<std::ptrdiff_t>((o * whole + static_cast<std::size_t>(at)) * inner + i) : -1,
          (o * part + j) * inner + i);
      }
}
definition part_at(std::size_t outer, std::size_t whole, std::size_t part, std::size_t inner) {
  return [=](std::vector<numbers> const& x) {
    numbers y(outer * part * inner);
    each_of_part(outer, whole, part, inner, x[1][0], [&](std::ptrdiff_t from, std::size_t to) {
      y[to] = from < 0 ? std::nan("") : x[0][static_cast<std::size_t>(from)];
    });
    return y;
  };
}

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
      adding<slice_first>("slice<a, d>(x[a, c], start)", slices, part_at(1, A, D, C), forms::part_of(0, {3, 2}))
          .drawn(0, static_cast<double>(at_least_one(A, D)), 1),
      adding<slice_within>("slice<b, c>(x[a, b, d], start)", slices, part_at(A, B, C, D), forms::part_of(1, {0, 2, 3}))
          .drawn(0, static_cast<double>(at_least_one(B, C)), 1),
      adding<update_first>(
          "update<a, d>(x[a, c], y[c, d], start)", updates,
          [](std::vector<numbers> const& x) {
            numbers y = x[0];
            each_of_part(1, A, D, C, x[2][0], [&](std::ptrdiff_t to, std::size_t from) {
              if (to >= 0) y[static_cast<std::size_t>(to)] = x[1][from % C * D + from / C];
            });
            return y;
          },
          forms::updated(0, 3))
          .drawn(-2, static_cast<double>(A), 2),
      adding<update_last>(
          "update<b, c>(x[d, b], y[d, c], start)", updates,
          [](std::vector<numbers> const& x) {
            numbers y = x[0];
            each_of_part(D, B, C, 1, x[2][0], [&](std::ptrdiff_t to, std::size_t from) {
              if (to >= 0) y[static_cast<std::size_t>(to)] = x[1][from];
            });
            return y;
          },
          forms::updated(1, 2))
          .drawn(-2, static_cast<double>(B), 2),
  };
  return ops;
}

}  // namespace sweep
