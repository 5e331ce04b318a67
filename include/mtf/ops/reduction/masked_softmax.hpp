#pragma once
// The weights of attention: softmax along the keys that a query sees.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/reduction/softmax.hpp>

namespace mtf {

namespace detail {

/// What lengths may be: integers over dimensions of the others but Key.
template <class Lengths, class Rest>
struct lengths_verdict;
template <class... D, class Rest>
struct lengths_verdict<shape<D...>, Rest> {
  using type = named_dims_t<Rest, D...>;
};
template <class Lengths, class Rest>
using lengths_t = first_failed_t<std::conditional_t<std::is_same_v<typename Lengths::element_type, std::int32_t>, ok,
                                                    error_element_type<typename Lengths::element_type>>,
                                 typename lengths_verdict<typename Lengths::shape_type, Rest>::type>;

struct masked_softmax_work : operation_work<2> {
  softmax_work of;      // of the scores
  loops<2> of_lengths;  // operands (one number a row of the scores, the lengths)
};

constexpr masked_softmax_work derive_masked_softmax(mesh_shape const& mesh, sharding const& scores,
                                                    sharding const& lengths, std::uint64_t query, std::uint64_t key) {
  masked_softmax_work w;
  w.of = derive_softmax(mesh, scores, scores.find(key), scores.find(query), soft::softmax);
  w.in = {scores, lengths};
  w.out = w.of.out;
  w.complete = {scores.partial, lengths.partial};
  w.gradient_may_be_partial = w.of.gradient_may_be_partial;
  auto rows = without<1>(scores, {key}, 1);
  rows.partial = 0;
  w.of_lengths = aligned<1>(mesh, rows, {lengths});
  return w;
}

template <class T>
struct masked_softmax_operation {
  using A = compute_t<T>;
  masked_softmax_work const* work;
  A scale;
  visible seen;
  static constexpr std::size_t kept = 2;  // y; the length of each row
  static constexpr char const* name() { return "masked_softmax"; }

  [[nodiscard]] constexpr visible_rows here(mesh_shape const& mesh, int rank, std::int32_t const* lengths) const {
    auto rows = visible_here(work->of, seen, mesh, rank);
    rows.lengths = lengths;
    rows.first_key = shard_offset(work->of.in[0], work->of.dim, mesh, rank);
    return rows;
  }
  constexpr void forward(auto& f) const {
    auto const& of = work->of;
    auto const r = rows_without_pads(of.r, of.in[0], of.dim, f.mesh(), f.rank());
    auto const lengths = make_buffer<std::int32_t>(f.backend, r.count());
    auto* const of_rows = data_of<std::int32_t>(lengths);
    f.run(primitives::copy<std::int32_t, std::int32_t>{work->of_lengths, of_rows, f.template x<1>()});
    auto const rows = here(f.mesh(), f.rank(), of_rows);
    std::remove_cvref_t<decltype(f.out)> statistics;
    A *max = nullptr, *sum = nullptr;
    if (of.exchange != 0) {
      max = data_of<A>(statistics = make_buffer<A>(f.backend, 2 * r.count()));
      sum = data_of<A>(statistics, r.count());
      exchange_statistics<T>(f, of, r, scale, rows, max, sum);
    }
    f.run(primitives::softmax<T>{r, scale, rows, f.y(), f.x(), max, sum});
    f.kept = {f.out, lengths};
  }
  constexpr void backward(auto& g) const {
    softmax_backward<T>(g, work->of, scale, here(g.mesh(), g.rank(), data_of<std::int32_t>(g.kept[1])));
  }
};

template <class Query, class Key>
struct masked_softmax_call {
  visible seen;
  double scale;

  struct rest {  // of the scores' dimensions
    static constexpr operation_work<1> derive(mesh_shape const&, sharding const& x) {
      return {.out = without<1>(x, {Key::id}, 1)};
    }
  };
  template <class X, class Lengths>
  static auto verdict() {
    using names = first_failed_t<floating_t<X>, named_dims_t<typename X::shape_type, Key, Query>>;
    if constexpr (!names::value)
      return names{};
    else
      return lengths_t<Lengths, typename description_of<typename X::element_type, rest, X>::shape_type>{};
  }
  static constexpr bool takes_pads = true;
  static constexpr masked_softmax_work derive(mesh_shape const& mesh, sharding const& scores, sharding const& lengths) {
    return derive_masked_softmax(mesh, scores, lengths, Query::id, Key::id);
  }
  template <class X, class Lengths>
  constexpr auto operator()(X const& x, Lengths const& lengths) const {
    using T = typename X::element_type;
    using out = description_of<T, masked_softmax_call, typename X::description, typename Lengths::description>;
    return run_as<out, masked_softmax_call>(
        masked_softmax_operation<T>{nullptr, static_cast<compute_t<T>>(scale), seen}, x, lengths);
  }
};

}  // namespace detail

/// Softmax along Key of the scores whose keys are visible to their query; those of hidden keys are 0, and so is a row
/// of which nothing is visible, with no gradient: the weights of attention (Vaswani et al. 2017, 3.2.1). Either
/// dimension may be split, as positions are global; communication as for `softmax`. A bias is added to x before.
template <dimension Query, dimension Key, operand X>
constexpr auto masked_softmax(X const& x, visible const& seen, double scale = 1) {
  return detail::operate(detail::softmax_call<detail::soft::softmax, Key, Query>{scale, seen}, x);
}

/// The same of sequences of several lengths: of the keys only those at positions below `lengths` are visible, a tensor
/// of int32 over some of x's dimensions but Key; over Query too, each query has a length of its own. Refused: lengths
/// of another type, over a dimension that x lacks, or over Key.
template <dimension Query, dimension Key, operand X, operand Lengths>
constexpr auto masked_softmax(X const& x, visible const& seen, Lengths const& lengths, double scale = 1) {
  return detail::operate(detail::masked_softmax_call<Query, Key>{seen, scale}, x, lengths);
}

}  // namespace mtf
