// The same values elsewhere: split, ordered, named, repeated or stored differently; rows by number; dropout.
#include <cmath>

#include "define.hpp"
#include "philox.hpp"

namespace sweep {

namespace {

using narrower = std::conditional_t<std::is_same_v<element, double>, float, mtf::bfloat16>;

SWEEP_OF_ONE(complete, (real<a, b>), mtf::complete(x))
struct relayout {
  SWEEP_HEAD((real<a, b, c>))
  static constexpr bool takes_layout = true;
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::relayout<typename Case::other_layout>(x);
  }
};
struct rename {
  SWEEP_HEAD((real<a, b, c>))
  static constexpr set more_dims = bit(4);
  template <class Case, class X>
  static auto call(backend&, X const& x) {
    return mtf::rename<b, e>(x);
  }
};
struct broadcast {
  SWEEP_HEAD((real<b>))
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
SWEEP_OF_TWO(embedding, (real<a, c>, whole<b>), mtf::embedding<a>(x, y))
SWEEP_OF_TWO(embedding_turned, (real<d, a>, whole<c, b>), mtf::embedding<a>(x, y))
SWEEP_OF_ONE(dropout, (real<a, b, c>), mtf::dropout(x, 0.4, mtf::random_key(5)))
/// What arrives on the host of every rank, as a tensor again.
struct to_global {
  SWEEP_HEAD((real<a, b, c>))
  template <class Case, class X>
  static auto call(backend& on, X const& x) {
    using whole_tensor =
        mtf::tensor<element, typename X::shape_type, mtf::layout<typename X::mesh_type>, mtf::partial<>, backend>;
    return mtf::from_global<whole_tensor>(on, mtf::to_global(x));
  }
};
struct item {
  SWEEP_HEAD((real<>))
  template <class Case, class X>
  static auto call(backend& on, X const& x) {
    using whole_tensor =
        mtf::tensor<element, mtf::shape<>, mtf::layout<typename X::mesh_type>, mtf::partial<>, backend>;
    return mtf::full<whole_tensor>(on, to_double(mtf::item(x)));
  }
};

using all = std::vector<numbers> const&;

numbers unchanged(all x) { return x[0]; }

template <class Op>
operation entry(std::string name, documentation text, std::function<numbers(std::vector<numbers> const&)> define,
                closed_form sends) {
  operation op = with_cases<Op>(std::move(name), std::move(text));
  op.define = std::move(define);
  op.sends = std::move(sends);
  return op;
}

}  // namespace

std::vector<operation> operations_of_movements() {
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
      .partial = "completed over the axes of the new dimensions; else stays partial"};
  documentation const lookups{
      .names = {"embedding"},
      .call = "embedding<vocabulary>(table, ids)",
      .meaning = "The rows of the table that the ids name.",
      .forward = "nothing; the result is partial over the axes of the vocabulary",
      .backward =
          "nothing; the table's gradient is partial over the axes that split the ids. A gradient that arrives "
          "partial over the vocabulary's axes is completed: one all-reduce of the result",
      .partial = "completed"};
  documentation const casts{
      .names = {"cast"},
      .call = "cast<T>(x)",
      .meaning = "The values as elements of another type.",
      .forward = "nothing",
      .backward = "nothing",
      .partial = "completed where T is narrower, or not floating; else stays partial. Gradients likewise"};

  auto const rows_of = [](std::size_t stride_of_row, std::size_t stride_in_row, std::size_t width) {
    return [=](all x) {
      numbers y;
      for (double const id : x[1])
        for (std::size_t k = 0; k < width; ++k)
          y.push_back(x[0][static_cast<std::size_t>(id) * stride_of_row + k * stride_in_row]);
      return y;
    };
  };

  std::vector<operation> ops{
      entry<complete>("complete(x)",
                      {.names = {"complete"},
                       .call = "complete(x)",
                       .meaning = "The same tensor with all its sums taken; paid for once.",
                       .forward = "nothing",
                       .backward = "nothing",
                       .partial = "one all-reduce over the axes over which it is partial"},
                      unchanged, forms::complete()),
      entry<relayout>("relayout<layout>(x)", moves, unchanged, forms::relayout()),
      entry<rename>("rename<b, e>(x)", renames, unchanged, forms::rename(1, 4)),
      entry<broadcast>(
          "broadcast<a, b, c>(x[b])", repeats,
          [](all x) {
            numbers y;
            for (std::size_t i = 0; i < A; ++i)
              for (std::size_t j = 0; j < B; ++j) y.insert(y.end(), C, x[0][j]);
            return y;
          },
          forms::broadcast({0, 1, 2})),
      entry<transpose>(
          "transpose<c, a, b>(x)",
          {.names = {"transpose"},
           .call = "transpose<dims...>(x)",
           .meaning = "The same tensor stored in another order.",
           .forward = "nothing",
           .backward = "nothing",
           .partial = "stays partial"},
          [](all x) {
            numbers y;
            for (std::size_t k = 0; k < C; ++k)
              for (std::size_t i = 0; i < A; ++i)
                for (std::size_t j = 0; j < B; ++j) y.push_back(x[0][(i * B + j) * C + k]);
            return y;
          },
          forms::same({2, 0, 1})),
      entry<cast>(
          "cast<double>(cast<float>(x))", casts,
          [](all x) {
            numbers y;
            for (double const v : x[0]) y.push_back(to_double(from_double<narrower>(v)));
            return y;
          },
          forms::narrowed()),
      entry<cast_wider>("cast<double>(ids)", casts, unchanged, forms::complete()),
      entry<stop_gradient>("stop_gradient(x)",
                           {.names = {"stop_gradient"},
                            .call = "stop_gradient(x)",
                            .meaning = "The tensor as a constant: nothing flows back through it.",
                            .forward = "nothing",
                            .backward = "nothing",
                            .partial = "stays partial"},
                           unchanged, forms::constant()),
      entry<embedding>("embedding<a>(table[a, c], ids[b])", lookups, rows_of(C, 1, C), forms::embedding(0, {1, 2})),
      entry<embedding_turned>("embedding<a>(table[d, a], ids[c, b])", lookups, rows_of(1, A, D),
                              forms::embedding(0, {2, 1, 3})),
      entry<dropout>(
          "dropout(x, 0.4, key)",
          {.names = {"dropout"},
           .call = "dropout(x, rate, key)",
           .meaning = "Each element is 0 with probability rate, else divided by 1 - rate; the same for every layout.",
           .forward = "nothing",
           .backward = "nothing",
           .partial = "stays partial"},
          [](all x) {
            numbers y;
            for (std::size_t i = 0; i < x[0].size(); ++i) {
              // Eight neighbours share a counter; a half word below rate * 2^16 drops its element.
              auto const words = philox(mtf::random_key(5).bits(), i / 8, 0);
              auto const half = words[i % 8 / 2] >> (16 * (i % 2)) & 0xffffU;
              double const dropped = std::floor(0.4 * 0x1p16 + 0.5);
              y.push_back(half < dropped ? 0 : x[0][i] / (1 - dropped / 0x1p16));
            }
            return y;
          },
          forms::same({0, 1, 2})),
      entry<to_global>("to_global(x)",
                       {.names = {"to_global"},
                        .call = "to_global(x)",
                        .meaning = "All elements on the host of every rank.",
                        .forward = "one all-gather over all axes that split a dimension",
                        .backward = "has no gradient",
                        .partial = "completed"},
                       unchanged, forms::gathered()),
      entry<item>("item(x)",
                  {.names = {"item"},
                   .call = "item(x)",
                   .meaning = "The number in a tensor without dimensions.",
                   .forward = "nothing",
                   .backward = "has no gradient",
                   .partial = "completed"},
                  unchanged, forms::complete()),
  };
  for (auto& op : ops) {
    if (op.name.starts_with("to_global") || op.name.starts_with("item") || op.name.starts_with("cast<double>(ids"))
      op.differentiable = false;
    op.sums = op.name.starts_with("embedding");
    if (op.name.starts_with("embedding")) op.in[1].low = 0, op.in[1].high = A;
    if (op.name.starts_with("cast<double>(ids")) op.in[0].low = -100, op.in[0].high = 100;
    if (op.name.starts_with("cast<double>(cast"))
      op.gradient = [](all, numbers const& weights, std::size_t) {
        numbers g;
        for (double const w : weights) g.push_back(to_double(from_double<narrower>(w)));
        return g;
      };
    if (op.name.starts_with("stop_gradient"))
      op.gradient = [](all x, numbers const&, std::size_t) { return numbers(x[0].size()); };
  }
  return ops;
}

}  // namespace sweep
