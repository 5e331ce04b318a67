// The same values elsewhere: split, ordered, named, repeated or stored differently.
#include "../definitions/movement.hpp"
#include "entry.hpp"

namespace sweep {

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
  return ops;
}

}  // namespace sweep
