// Rows of a table by number.
#include <cstddef>

#include "../definitions/indexing.hpp"
#include "../definitions/movement.hpp"
#include "entry.hpp"

#include <mtf/ops/indexing.hpp>

namespace sweep {

namespace {

SWEEP_OF_TWO(embedding, (real<a, c>, whole<b>), mtf::embedding<a>(x, y))
SWEEP_OF_TWO(embedding_turned, (real<d, a>, whole<c, b>), mtf::embedding<a>(x, y))

SWEEP_OF_TWO(slice_first, (real<a, c>, whole<>), mtf::slice<a, d>(x, y))
SWEEP_OF_TWO(slice_within, (real<a, b, d>, whole<>), mtf::slice<b, c>(x, y))
SWEEP_OF_TWO(slice_each, (real<b, a, d>, whole<b>), mtf::slice<a, c>(x, y))
struct slice_steps {
  SWEEP_HEAD(slice_steps, (real<c, g>))
  static constexpr set more_dims = bit(1), apart = bit(1) | bit(6);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::slice<g, b>(x, 1, 2);
  }
};
struct slice_steps_back {
  SWEEP_HEAD(slice_steps_back, (real<g, d>))
  static constexpr set more_dims = bit(4), apart = bit(4) | bit(6);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::slice<g, e>(x, static_cast<std::int64_t>(G) - 1, -1);
  }
};
SWEEP_OF_THREE(update_each, (real<d, a, b>, real<d, a, c>, whole<a, d>), mtf::update<b, c>(x, y, z))
SWEEP_OF_THREE(update_first, (real<a, c>, real<c, d>, whole<>), mtf::update<a, d>(x, y, z))
SWEEP_OF_THREE(update_last, (real<d, b>, real<d, c>, whole<>), mtf::update<b, c>(x, y, z))

SWEEP_OF_TWO(gather_labels, (real<b, a>, whole<b>), mtf::gather<a>(x, y))
SWEEP_OF_TWO(gather_rows, (real<a, c>, whole<b>), mtf::gather<a>(x, y))
SWEEP_OF_TWO(gather_batch, (real<a, b, d>, whole<b, c>), mtf::gather<a>(x, y))
SWEEP_OF_TWO(gather_turned, (whole<c, b, a>, whole<b, d, c>), mtf::gather<a>(x, y))
// The result has a dimension more, which axes of the one that is summed may split too.
#define SWEEP_ADDS(NAME, OPERANDS, MORE, SUMMED, ...)     \
  struct NAME {                                           \
    SWEEP_HEAD(NAME, OPERANDS)                            \
    static constexpr set more_dims = bit(MORE);           \
    static constexpr set apart = bit(MORE) | bit(SUMMED); \
    template <class Case, class X, class Y>               \
    static auto call(backend&, X const& x, Y const& y) {  \
      return __VA_ARGS__;                                 \
    }                                                     \
  };
SWEEP_ADDS(scatter_all, (real<b, c>, whole<b>), 0, 1, mtf::scatter_add<a>(y, x))
SWEEP_ADDS(scatter_batch, (real<c, b, d>, whole<b, c>), 0, 1, mtf::scatter_add<a, b>(y, x))
SWEEP_ADDS(scatter_integers, (whole<b, a>, whole<b, a>), 2, 1, mtf::scatter_add<c, b>(y, x))
SWEEP_ADDS(segments, (real<d, a>, whole<a>), 1, 0, mtf::segment_sum<a, b>(x, y))
struct one_hot_last {
  SWEEP_HEAD(one_hot_last, (whole<a, c>))
  static constexpr set more_dims = bit(1);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::one_hot<b, element>(x);
  }
};

documentation const gathers{
    .names = {"gather"},
    .call = "gather<dim>(x, ids)",
    .meaning =
        "The elements along dim that the ids name; along dimensions that both have each position has ids of its own.",
    .forward = "nothing; the result is partial over the axes of dim",
    .backward =
        "nothing; x's gradient is partial over the axes that split dimensions which ids alone have. A gradient that "
        "arrives partial over dim's axes is reduced: one all-reduce of the result",
    .partial = "stays partial, but over axes that split ids; ids: reduced"};
documentation const scatters{
    .names = {"scatter_add", "segment_sum"},
    .call = "scatter_add<dim, along...>(ids, updates), segment_sum<along, dim>(updates, ids)",
    .meaning =
        "Zeros along dim, to which the updates are added where the ids say, summed along the dimensions named, or all "
        "of ids; ids beyond the ends are left out.",
    .forward =
        "nothing; the result is partial over the axes that split what is summed. Those that split dim too: a "
        "reduce-scatter",
    .backward =
        "nothing, or the reverse; the gradient is partial over the other axes of dim. One that arrives partial over "
        "the axes of what is "
        "summed "
        "is reduced: one all-reduce of the result",
    .partial = "stays partial, but over the axes of dim; ids: reduced"};
documentation const one_hots{
    .names = {"one_hot"},
    .call = "one_hot<dim, T>(ids)",
    .meaning = "1 where the position along dim, which comes last, is the id, else 0; zeros for a negative one.",
    .forward = "nothing; dim is split as the layout says",
    .backward = "has no gradient",
    .partial = "reduced"};
documentation const slices{
    .names = {"slice"},
    .call = "slice<dim, part>(x, start)",
    .meaning =
        "The positions of dim from start on, an int32, or one for each position along dimensions before dim; as many "
        "as part is long; NaN beyond the ends. Part is not split.",
    .forward = "nothing; the result is partial over the axes of dim",
    .backward = "nothing. A gradient that arrives partial over dim's axes is reduced: one all-reduce of the result",
    .partial = "stays partial"};
documentation const strides{
    .names = {"slice"},
    .call = "slice<dim, part>(x, start, step)",
    .meaning = "The positions start, start + step and so on of dim, as many as part is long; numbers.",
    .forward =
        "what a rank lacks of its positions of part, from those that have it: permutes, or one all-to-all with counts "
        "where that sends no more; where an all-gather of x along dim sends no more, that",
    .backward =
        "likewise, the other way; the gradient is partial over axes of part that do not split dim. One that arrives "
        "partial over an axis of dim: a reduce-scatter",
    .partial = "stays partial where part is not split; else reduced"};
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
      adding<slice_each>("slice<a, c>(x[b, a, d], start[b])", slices, define::slice(0, 2, {1}),
                         forms::part_of(0, {1, 2, 3}))
          .drawn(0, static_cast<double>(at_least_one(A, C)), 1),
      entry<slice_steps>("slice<g, b>(x[c, g], 1, 2)", strides,
                         define::taken_from(6, 1, [](int i, int) { return 1 + 2 * i; }),
                         forms::moved(1, {6}, {2, 1}, [](int i) { return forms::origin{0, 1 + 2 * i}; }))
          .gathers(bit(6)),
      entry<slice_steps_back>(
          "slice<g, e>(x[g, d], G - 1, -1)", strides,
          define::taken_from(6, 4, [](int i, int extent) { return extent - 1 - i; }),
          forms::moved(4, {6}, {4, 3}, [](int i) { return forms::origin{0, static_cast<int>(G) - 1 - i}; }))
          .gathers(bit(6)),
      adding<update_each>("update<b, c>(x[d, a, b], y[d, a, c], start[a, d])", updates, define::update(1, 2, {0, 3}),
                          forms::updated(1, 2))
          .drawn(-2, static_cast<double>(B), 2),
      adding<update_first>("update<a, d>(x[a, c], y[c, d], start)", updates, define::update(0, 3), forms::updated(0, 3))
          .drawn(-2, static_cast<double>(A), 2),
      adding<update_last>("update<b, c>(x[d, b], y[d, c], start)", updates, define::update(1, 2), forms::updated(1, 2))
          .drawn(-2, static_cast<double>(B), 2),
      adding<gather_labels>("gather<a>(x[b, a], ids[b])", gathers, define::gather(0), forms::gathered_along(0, {1}))
          .drawn(-1, A, 1),
      adding<gather_rows>("gather<a>(x[a, c], ids[b])", gathers, define::gather(0), forms::gathered_along(0, {1, 2}))
          .drawn(-1, A, 1),
      adding<gather_batch>("gather<a>(x[a, b, d], ids[b, c])", gathers, define::gather(0),
                           forms::gathered_along(0, {1, 2, 3}))
          .drawn(0, A, 1),
      adding<gather_turned>("gather<a>(n[c, b, a], ids[b, d, c])", gathers, define::gather(0),
                            forms::gathered_along(0, {2, 1, 3}))
          .drawn(-9, 9)
          .drawn(0, A, 1)
          .without_gradient(),
      adding<scatter_all>("scatter_add<a>(ids[b], x[b, c])", scatters, define::scatter_add(0),
                          forms::scattered(0, bit(1), {0, 2}))
          .drawn(-1, A + 1, 1),
      adding<scatter_batch>("scatter_add<a, b>(ids[b, c], x[c, b, d])", scatters, define::scatter_add(0),
                            forms::scattered(0, bit(1), {2, 0, 3}))
          .drawn(0, A, 1),
      adding<scatter_integers>("scatter_add<c, b>(ids[b, a], n[b, a])", scatters, define::scatter_add(2),
                               forms::forward_only(forms::scattered(2, bit(1), {0, 2})))
          .drawn(-9, 9)
          .drawn(0, C, 1)
          .without_gradient(),
      adding<segments>("segment_sum<a, b>(x[d, a], ids[a])", scatters, define::scatter_add(1),
                       forms::scattered(1, bit(0), {1, 3}))
          .drawn(0, B, 1),
      entry<one_hot_last>("one_hot<b>(ids[a, c])", one_hots, define::one_hot(1), forms::one_hot(1))
          .drawn(-1, B)
          .without_gradient(),
  };
  return ops;
}

}  // namespace sweep
