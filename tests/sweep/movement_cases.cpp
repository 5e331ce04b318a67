// The same values elsewhere: split, ordered, named, repeated or stored differently.
#include "../definitions/movement.hpp"
#include "entry.hpp"

#include <tuple>

#include <mtf/ops/movement.hpp>

namespace sweep {

/// Operations on extents that not every sweep has. Not in a namespace without a name: of what is there clang takes the
/// members that a discarded branch alone uses for unused.
namespace on_some_extents {

struct concat_three {
  SWEEP_HEAD(concat_three, (real<a, c>, real<c, d>, real<d, c>))
  static constexpr set more_dims = bit(7), apart = bit(0) | bit(3) | bit(7);
  template <class Case, class X, class Y, class Z>
  static auto call(backend&, X const& x, Y const& y, Z const& z) {
    return mtf::concat<h, a, d, d>(x, y, z);
  }
};
struct concat_four {
  SWEEP_HEAD(concat_four, (real<d, b>, real<b, d>, real<d, b>, real<d, b>))
  static constexpr set more_dims = bit(5), apart = bit(3) | bit(5);
  template <class Case, class X, class Y, class Z, class W>
  static auto call(backend&, X const& x, Y const& y, Z const& z, W const& w) {
    return mtf::concat<f, d>(x, y, z, w);
  }
};
struct stacked {
  SWEEP_HEAD(stacked, (real<a, b>, real<b, a>, real<a, b>, real<a, b>))
  static constexpr set more_dims = bit(2);
  template <class Case, class X, class Y, class Z, class W>
  static auto call(backend&, X const& x, Y const& y, Z const& z, W const& w) {
    return mtf::stacked<c>(x, y, z, w);
  }
};

}  // namespace on_some_extents

namespace {

/// What a cast rounds to.
using narrower = std::conditional_t<std::is_same_v<element, double>, float, mtf::bfloat16>;
double round_to_narrower(double x) { return to_double(from_double<narrower>(x)); }

SWEEP_OF_ONE(complete, (real<a, b>), mtf::complete(x))
struct relayout {
  SWEEP_HEAD(relayout, (real<a, b, c>))
  static constexpr bool takes_layout = true;
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::relayout<typename Case::other_layout>(x);
  }
};
struct rename {
  SWEEP_HEAD(rename, (real<a, b, c>))
  static constexpr set more_dims = bit(4);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::rename<b, e>(x);
  }
};
struct split_dim {
  SWEEP_HEAD(split_dim, (real<b, f>))
  static constexpr set more_dims = bit(2) | bit(3);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::split_dim<f, c, d>(x);
  }
};
struct split_first {
  SWEEP_HEAD(split_first, (real<f, b>))
  static constexpr set more_dims = bit(2) | bit(3);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::split_dim<f, d, c>(x);
  }
};
struct merge_dims {
  SWEEP_HEAD(merge_dims, (real<b, c, d>))
  static constexpr set more_dims = bit(5);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::merge_dims<c, d, f>(x);
  }
};
struct concat_first {
  SWEEP_HEAD(concat_first, (real<b, c>, real<c, e>))
  static constexpr set more_dims = bit(6), apart = bit(1) | bit(4) | bit(6);
  template <class Case, class X, class Y>
  static auto call(backend&, X const& x, Y const& y) {
    return mtf::concat<g, b, e>(x, y);
  }
};
struct concat_alike {
  SWEEP_HEAD(concat_alike, (real<d, b, c>, real<d, b, c>))
  static constexpr set more_dims = bit(6), apart = bit(1) | bit(6);
  template <class Case, class X, class Y>
  static auto call(backend&, X const& x, Y const& y) {
    return mtf::concat<g, b, b>(x, y);
  }
};
struct concat_unlike {
  SWEEP_HEAD(concat_unlike, (real<a, d>, real<d, b>))
  static constexpr set more_dims = bit(7), apart = bit(0) | bit(1) | bit(7);
  template <class Case, class X, class Y>
  static auto call(backend&, X const& x, Y const& y) {
    return mtf::concat<h, a, b>(x, y);
  }
};
constexpr int in_front = static_cast<int>(E / 2 + 1);
struct pad {
  SWEEP_HEAD(pad, (real<b, c>))
  static constexpr set more_dims = bit(6), apart = bit(1) | bit(6);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::pad<b, g>(x, in_front);
  }
};
struct pad_within {
  SWEEP_HEAD(pad_within, (real<d, b>))
  static constexpr set more_dims = bit(6), apart = bit(1) | bit(6);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::pad<b, g>(x, 1, -2.5);
  }
};
SWEEP_OF_ONE(roll, (real<a, b, c>), mtf::roll<b>(x, 5))
SWEEP_OF_ONE(roll_back, (real<d, a>), mtf::roll<a>(x, -7))
SWEEP_OF_ONE(shift, (real<a, b>), mtf::shift<a>(x, 7))
SWEEP_OF_ONE(shift_back, (real<b, d>), mtf::shift<b>(x, -4))
SWEEP_OF_ONE(reverse, (real<c, a, d>), mtf::reverse<a>(x))
#ifndef MTF_SWEEP_VALUES  // the extent is to be in the type
SWEEP_OF_ONE(unstacked, (real<b, d, c>), std::get<2>(mtf::unstacked<d>(x)))
#endif
struct broadcast {
  SWEEP_HEAD(broadcast, (real<b>))
  static constexpr set more_dims = bit(0) | bit(2);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::broadcast<a, b, c>(x);
  }
};
SWEEP_OF_ONE(transpose, (real<a, b, c>), mtf::transpose<c, a, b>(x))
SWEEP_OF_ONE(cast, (real<a, b, c>), mtf::cast<element>(mtf::cast<narrower>(x)))
SWEEP_OF_ONE(cast_wider, (whole<a, b>), mtf::cast<element>(x))
SWEEP_OF_ONE(stop_gradient, (real<a, b>), mtf::stop_gradient(x))

// Where a position comes from, along a dimension so long.
auto from_front(int n) {
  return [=](int i, int extent) { return ((i - n) % extent + extent) % extent; };
}
auto from_before(int n) {
  return [=](int i, int) { return i - n; };
}
int from_end(int i, int extent) { return extent - 1 - i; }
/// The same, as closed forms ask.
template <class F>
auto of_first(std::size_t extent, F where) {
  return [n = static_cast<int>(extent), where](int i) {
    int const j = where(i, n);
    return j >= 0 && j < n ? forms::origin{0, j} : forms::origin{};
  };
}

}  // namespace

std::vector<operation> movement_operations() {
  documentation const moves{
      .names = {"relayout"},
      .call = "relayout<layout>(x)",
      .meaning = "The same tensor, split as the layout says.",
      .forward =
          "an axis that splits a dimension: an all-gather where it splits none afterwards, an all-to-all where it "
          "splits "
          "another, a permute where another axis of its size takes its place. Several such axes go together where that "
          "sends no more: in one all-to-all, or one all-gather. An idle axis: nothing",
      .backward = "the reverse; a gradient that is partial over an axis that splits x: a reduce-scatter",
      .partial = "a reduce-scatter over an axis that splits a dimension afterwards; else stays partial"};
  documentation const renames{
      .names = {"rename"},
      .call = "rename<from, to>(x)",
      .meaning = "The same tensor with a dimension by another name, split as the layout says of that.",
      .forward = "as for relayout; nothing where both names are split alike",
      .backward = "as for relayout",
      .partial = "as for relayout"};
  documentation const splits{
      .names = {"split_dim"},
      .call = "split_dim<dim, outer, inner>(x)",
      .meaning =
          "dim as two dimensions, row-major, in its place. Their extents multiply to its own; the layout says how they "
          "are split.",
      .forward =
          "nothing where dim's axes are those of outer, or, once a rank has one position of outer, of outer and then "
          "inner; else as for relayout, before or after. An axis that would split both: an all-gather",
      .backward = "the reverse",
      .partial = "as for relayout"};
  documentation const merges{
      .names = {"merge_dims"},
      .call = "merge_dims<outer, inner, dim>(x)",
      .meaning = "Two neighbours, the outer one first, as one dimension in their place: the reverse of split_dim.",
      .forward = "as for split_dim",
      .backward = "the reverse",
      .partial = "as for relayout"};
  documentation const joins{
      .names = {"concat"},
      .call = "concat<dim, dims...>(x, y, ...)",
      .meaning =
          "The tensors one after the other, each along its one of dims or all along one, as one tensor with dim in "
          "their place, split as the layout says.",
      .forward =
          "what a rank lacks of its positions of dim, from those that have it: permutes, or one all-to-all with counts "
          "where that sends no more. Where dim is not split, or it sends no more: an all-gather of what is split along "
          "dims",
      .backward =
          "likewise, the other way; the gradients are partial over axes of dim that do not split the part. A gradient "
          "that arrives partial over an axis of all parts: a reduce-scatter; of some of them: reduced first",
      .partial = "stays partial where all are and dim is not split; else reduced"};
  documentation const rolls{
      .names = {"roll", "shift", "reverse"},
      .call = "roll<dim>(x, n) shift<dim>(x, n) reverse<dim>(x)",
      .meaning =
          "Along dim position i is x's i - n: roll brings the last ones to the front, shift zeros. reverse: from the "
          "last to the first.",
      .forward =
          "what a rank lacks, from those that have it: one or two permutes, or one all-to-all with counts where that "
          "sends no more",
      .backward = "likewise, the other way",
      .partial = "stays partial"};
  documentation const pads{
      .names = {"pad"},
      .call = "pad<dim, whole>(x, before) pad<dim, whole>(x, before, value)",
      .meaning = "x within zeros, or within a number: `before` of them in front, as many behind as make dim whole.",
      .forward = "as for concat",
      .backward = "as for concat",
      .partial = "zeros: stays partial where whole is not split; else reduced"};
  documentation const stacks{
      .names = {"stacked"},
      .call = "stacked<dim>(x, y, ...)",
      .meaning = "The tensors as one, with dim as its first dimension, split as the layout says.",
      .forward = "nothing",
      .backward = "nothing; the gradients are partial over the axes of dim",
      .partial = "stays partial where all are and dim is not split; else reduced"};
  documentation const unstacks{
      .names = {"unstacked"},
      .call = "unstacked<dim>(x)",
      .meaning = "The positions of dim as tensors without it: as many as its type says.",
      .forward = "nothing; the results are partial over the axes of dim",
      .backward = "nothing. A gradient that arrives partial over dim's axes is reduced: one all-reduce of the result",
      .partial = "stays partial"};
  documentation const repeats{
      .names = {"broadcast"},
      .call = "broadcast<dims...>(x)",
      .meaning = "The tensor repeated along the dimensions it lacks, which are split as its layout says.",
      .forward = "nothing",
      .backward = "nothing; the gradient is partial over the axes of the new dimensions",
      .partial = "reduced over the axes of the new dimensions; else stays partial"};
  documentation const casts{
      .names = {"cast"},
      .call = "cast<T>(x)",
      .meaning = "The values as elements of another type.",
      .forward = "nothing",
      .backward = "nothing",
      .partial = "reduced where T is narrower, or not floating; else stays partial. Gradients likewise"};

  std::vector<operation> ops{
      entry<complete>("complete(x)",
                      {.names = {"complete"},
                       .call = "complete(x)",
                       .meaning = "The same tensor with all its sums taken; paid for once.",
                       .forward = "nothing",
                       .backward = "nothing",
                       .partial = "one all-reduce over the axes over which it is partial"},
                      define::same(), forms::complete()),
      entry<relayout>("relayout<layout>(x)", moves, define::same(), forms::relayout()),
      entry<rename>("rename<b, e>(x)", renames, define::renamed(1, 4), forms::rename(1, 4)),
      entry<split_dim>("split_dim<f, c, d>(x[b, f])", splits, define::regrouped(5, 2, 3),
                       forms::split(5, 2, 3, {1, 2, 3}))
          .without_pads(bit(3)),
      entry<split_first>("split_dim<f, d, c>(x[f, b])", splits, define::regrouped(5, 3, 2),
                         forms::split(5, 3, 2, {3, 2, 1}))
          .without_pads(bit(2)),
      entry<merge_dims>("merge_dims<c, d, f>(x[b, c, d])", merges, define::regrouped(5, 2, 3),
                        forms::merged(5, 2, 3, {1, 5}))
          .without_pads(bit(3)),
      entry<concat_first>("concat<g, b, e>(x[b, c], y[c, e])", joins, define::joined(6, {1, 4}),
                          forms::joined(6, {1, 4}, {6, 2}))
          .gathers(bit(1) | bit(4)),
      entry<concat_alike>("concat<g, b, b>(x[d, b, c], y[d, b, c])", joins, define::joined(6, {1, 1}),
                          forms::joined(6, {1, 1}, {3, 6, 2}))
          .gathers(bit(1)),
      entry<concat_unlike>("concat<h, a, b>(x[a, d], y[d, b])", joins, define::joined(7, {0, 1}),
                           forms::joined(7, {0, 1}, {7, 3}))
          .gathers(bit(0) | bit(1)),
      entry<roll>("roll<b>(x[a, b, c], 5)", rolls, define::taken_from(1, 1, from_front(5)),
                  forms::moved(1, {1}, {0, 1, 2}, of_first(B, from_front(5)))),
      entry<roll_back>("roll<a>(x[d, a], -7)", rolls, define::taken_from(0, 0, from_front(-7)),
                       forms::moved(0, {0}, {3, 0}, of_first(A, from_front(-7)))),
      entry<shift>("shift<a>(x[a, b], 7)", rolls, define::taken_from(0, 0, from_before(7)),
                   forms::moved(0, {0}, {0, 1}, of_first(A, from_before(7)))),
      entry<shift_back>("shift<b>(x[b, d], -4)", rolls, define::taken_from(1, 1, from_before(-4)),
                        forms::moved(1, {1}, {1, 3}, of_first(B, from_before(-4)))),
      entry<reverse>("reverse<a>(x[c, a, d])", rolls, define::taken_from(0, 0, from_end),
                     forms::moved(0, {0}, {2, 0, 3}, of_first(A, from_end))),
      entry<pad>("pad<b, g>(x[b, c], n)", pads, define::taken_from(1, 6, from_before(in_front)),
                 forms::moved(6, {1}, {6, 2}, of_first(B, from_before(in_front))))
          .gathers(bit(1)),
      entry<pad_within>("pad<b, g>(x[d, b], 1, -2.5)", pads, define::taken_from(1, 6, from_before(1), -2.5),
                        forms::moved(6, {1}, {3, 6}, of_first(B, from_before(1)), false))
          .gathers(bit(1)),
      entry<broadcast>("broadcast<a, b, c>(x[b])", repeats, define::same(), forms::broadcast({0, 1, 2})),
      entry<transpose>("transpose<c, a, b>(x)",
                       {.names = {"transpose"},
                        .call = "transpose<dims...>(x)",
                        .meaning = "The same tensor stored in another order.",
                        .forward = "nothing",
                        .backward = "nothing",
                        .partial = "stays partial"},
                       define::same(), forms::same({2, 0, 1})),
      entry<cast>("cast<double>(cast<float>(x))", casts, define::rounded(round_to_narrower), forms::narrowed()),
      entry<cast_wider>("cast<double>(ids)", casts, define::same(), forms::complete())
          .drawn(-100, 100)
          .without_gradient(),
      entry<stop_gradient>("stop_gradient(x)",
                           {.names = {"stop_gradient"},
                            .call = "stop_gradient(x)",
                            .meaning = "The tensor as a constant: nothing flows back through it.",
                            .forward = "nothing",
                            .backward = "nothing",
                            .partial = "stays partial"},
                           define::stopped(), forms::constant()),
  };
#ifndef MTF_SWEEP_VALUES
  ops.push_back(entry<unstacked>("unstacked<d>(x[b, d, c]), the third", unstacks, define::position_of(3, 2),
                                 forms::position_of(3, {1, 2})));
#endif
  if constexpr (C == 4) {  // as many as there are, and f is c times d
    ops.push_back(entry<on_some_extents::stacked>("stacked<c>(x[a, b], y[b, a], z[a, b], w[a, b])", stacks,
                                                  define::stacked(2), forms::stacked(2, {2, 0, 1})));
    ops.push_back(entry<on_some_extents::concat_four>("concat<f, d>(x[d, b], y[b, d], z[d, b], w[d, b])", joins,
                                                      define::joined(5, {3, 3, 3, 3}),
                                                      forms::joined(5, {3, 3, 3, 3}, {5, 1}))
                      .gathers(bit(3)));
  }
  if constexpr (B == 2 * D)  // h is a and b
    ops.push_back(entry<on_some_extents::concat_three>("concat<h, a, d, d>(x[a, c], y[c, d], z[d, c])", joins,
                                                       define::joined(7, {0, 3, 3}),
                                                       forms::joined(7, {0, 3, 3}, {7, 2}))
                      .gathers(bit(0) | bit(3)));
  return ops;
}

}  // namespace sweep
