// Rows of a table by number.
#include <cstddef>

#include "../definitions/indexing.hpp"
#include "entry.hpp"

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
documentation const lookups{
    .names = {"embedding"},
    .call = "embedding<vocabulary>(table, ids)",
    .meaning = "The rows of the table that the ids name.",
    .forward = "nothing; the result is partial over the axes of the vocabulary",
    .backward =
        "nothing; the table's gradient is partial over the axes that split the ids. A gradient that arrives "
        "partial over the vocabulary's axes is reduced: one all-reduce of the result",
    .partial = "reduced"};

}  // namespace

std::vector<operation> indexing_operations() {
  std::vector<operation> ops{
      adding<embedding>("embedding<a>(table[a, c], ids[b])", lookups, define::embedding(0), forms::embedding(0, {1, 2}))
          .drawn(0, A, 1),
      adding<embedding_turned>("embedding<a>(table[d, a], ids[c, b])", lookups, define::embedding(0),
                               forms::embedding(0, {2, 1, 3}))
          .drawn(0, A, 1),
      adding<slice_first>("slice<a, d>(x[a, c], start)", slices, define::slice(0, 3), forms::part_of(0, {3, 2}))
          .drawn(0, static_cast<double>(at_least_one(A, D)), 1),
      adding<slice_within>("slice<b, c>(x[a, b, d], start)", slices, define::slice(1, 2), forms::part_of(1, {0, 2, 3}))
          .drawn(0, static_cast<double>(at_least_one(B, C)), 1),
      adding<update_first>("update<a, d>(x[a, c], y[c, d], start)", updates, define::update(0, 3), forms::updated(0, 3))
          .drawn(-2, static_cast<double>(A), 2),
      adding<update_last>("update<b, c>(x[d, b], y[d, c], start)", updates, define::update(1, 2), forms::updated(1, 2))
          .drawn(-2, static_cast<double>(B), 2),
  };
  return ops;
}

}  // namespace sweep
