#pragma once
// The loss of classification, also with the class dimension split: the logits are never gathered.
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <mtf/backend/primitives/cross_entropy.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/transpose.hpp>

namespace mtf {

/// What a loss of classification has besides -log p[label].
struct cross_entropy_options {
  /// The share of the target that goes to all classes alike (Szegedy et al. 2016): from 0 to 1.
  double label_smoothing = 0;
  /// Times the square of the logits' logsumexp, which keeps it near 0 (Chowdhery et al. 2022; Mesh-TensorFlow's
  /// z_loss): at least 0.
  double z_loss = 0;
};

namespace detail {

struct cross_entropy_work : operation_work<2> {
  int dim = 0;
  rows r;
  axis_mask exchange = 0;  // axes that split the classes
};

constexpr cross_entropy_work derive_cross_entropy(mesh_shape const& mesh, sharding const& logits,
                                                  sharding const& labels, int dim) {
  cross_entropy_work w;
  w.dim = dim;
  w.in = {logits, labels};
  w.out = without<1>(logits, {logits[dim].id}, 1);
  w.out.partial = 0;
  w.complete = {logits.partial, labels.partial};
  w.gradient_may_be_partial = ~logits.split_axes();  // whole over the axes that split the classes
  w.r = rows_along(logits, dim, mesh);
  w.exchange = logits[dim].split.mask();
  return w;
}

template <class T>
struct cross_entropy_operation {
  using A = compute_t<T>;
  cross_entropy_work const* work;
  primitives::loss_terms<A> terms;
  static constexpr std::size_t kept = 3;  // logits, labels, each row's maximum and sum of exponentials
  static constexpr char const* name() { return "cross_entropy"; }

  constexpr void forward(auto& f) const {
    auto const r = rows_without_pads(work->r, work->in[0], work->dim, f.mesh(), f.rank());
    auto const n = r.count();
    auto const classes = work->in[0][work->dim].logical();
    A* const y = f.y();
    T const* const x = f.x();
    std::int32_t const* const label = f.template x<1>();
    // Maxima, sums; and where the labels' logits are on some other rank, these, and what smoothing adds up.
    bool const smoothed = terms.smoothing != 0;
    index const summed = work->exchange == 0 ? 1 : smoothed ? 3 : 2;
    auto statistics = make_buffer<A>(f.backend, (1 + summed) * n);
    A *const max = data_of<A>(statistics), *const sum = data_of<A>(statistics, n);
    if (work->exchange == 0) {
      f.run(primitives::cross_entropy<T>{r, y, max, sum, x, label, terms});
    } else {
      auto const count = static_cast<std::size_t>(n);
      auto const first = shard_offset(work->in[0], work->dim, f.mesh(), f.rank());
      f.run(primitives::row_max<T>{r, A(1), max, x});
      f.backend.communicate(collective::all_reduce(work->exchange, combine::max, element_of<A>, count), max, max);
      f.run(primitives::cross_entropy_local<T>{r, first, max, sum, x, label, smoothed});
      f.backend.communicate(
          collective::all_reduce(work->exchange, combine::sum, element_of<A>, static_cast<std::size_t>(summed) * count),
          sum, sum);
      f.run(primitives::cross_entropy_finish<T>{n, classes, y, max, sum, label, terms});
    }
    f.kept = {f.memory(), f.template memory<1>(), statistics};
  }
  constexpr void backward(auto& g) const {
    auto const& logits = work->in[0];
    auto const r = rows_without_pads(work->r, logits, work->dim, g.mesh(), g.rank());
    auto const n = r.count();
    g.run(primitives::cross_entropy_vjp<T>{r, shard_offset(logits, work->dim, g.mesh(), g.rank()),
                                           logits[work->dim].logical(), g.dx(), data_of<T>(g.kept[0]),
                                           data_of<std::int32_t>(g.kept[1]), data_of<A>(g.kept[2]),
                                           data_of<A>(g.kept[2], n), g.dy(), terms});
  }
};

constexpr void check_options(cross_entropy_options const& o) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    throw user_error("cross_entropy: label_smoothing is " + std::to_string(o.label_smoothing) +
                     "; a share, from 0 to 1, was expected");
  if (!(o.z_loss >= 0))
    throw user_error("cross_entropy: z_loss is " + std::to_string(o.z_loss) + "; a factor of at least 0 was expected");
}

template <class D>
struct cross_entropy_call {
  cross_entropy_options options;

  template <class X, class Labels>
  static auto verdict() {
    using names = first_failed_t<named_dims_t<typename X::shape_type, D>, floating_t<X>,
                                 std::conditional_t<std::is_same_v<typename Labels::element_type, std::int32_t>, ok,
                                                    error_element_type<typename Labels::element_type>>>;
    if constexpr (!names::value)
      return names{};
    else
      return std::conditional_t<same_dims(without<1>(X::spec, {D::id}, 1), Labels::spec), ok,
                                error_shapes_differ<typename Labels::shape_type, result_shape<X>>>{};
  }
  struct rest {  // of the logits' dimensions
    static constexpr operation_work<1> derive(mesh_shape const&, sharding const& x) {
      return {.out = without<1>(x, {D::id}, 1)};
    }
  };
  template <class X>
  using result_shape = typename description_of<typename X::element_type, rest, X>::shape_type;

  static constexpr bool takes_pads = true;
  static constexpr cross_entropy_work derive(mesh_shape const& mesh, sharding const& logits, sharding const& labels) {
    return derive_cross_entropy(mesh, logits, labels, logits.find(D::id));
  }
  template <class X, class Labels>
  constexpr auto operator()(X const& logits, Labels const& labels) const {
    check_options(options);
    using T = typename X::element_type;
    using A = compute_t<T>;
    auto const ordered = transposed(static_cast<result_shape<typename X::description> const*>(nullptr), labels);
    using out = description_of<compute_t<T>, cross_entropy_call, typename X::description,
                               typename decltype(ordered)::description>;
    return run_as<out, cross_entropy_call>(
        cross_entropy_operation<T>{nullptr, {static_cast<A>(options.label_smoothing), static_cast<A>(options.z_loss)}},
        logits, ordered);
  }
};

}  // namespace detail

/// -log softmax(logits)[label] along Classes, or what the options make of it, for every other element of the logits:
/// the result has their dimensions without Classes, which are also those of `labels`, a tensor of int32 in [0, extent
/// of Classes). Losses of bfloat16 logits are float. A negative label is ignored: its loss is 0 and has no gradient;
/// the mean of the others is `weighted_mean(losses, labels >= 0)`. A label at or above the extent gives NaN;
/// `from_global<X, Classes>` refuses it before. If Classes is split: an all-reduce of one number an element (maximum),
/// and one of two (sum, the label's logit; of three with label smoothing); none backward unless the gradient arrives
/// partial over the axes of Classes. Refused: labels of another shape, or split differently.
template <dimension Classes, operand X, operand Labels>
constexpr auto cross_entropy(X const& logits, Labels const& labels, cross_entropy_options const& options = {}) {
  return detail::operate(detail::cross_entropy_call<Classes>{options}, logits, labels);
}

}  // namespace mtf
