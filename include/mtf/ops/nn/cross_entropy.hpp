#pragma once
// The loss of classification, also with the class dimension cut: the logits are never gathered.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/cross_entropy.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/transpose.hpp>

namespace mtf {

namespace detail {

struct cross_entropy_work {
  sharding logits, out;
  int dim = 0;
  rows r;
  axis_mask complete = 0, exchange = 0;
};

constexpr cross_entropy_work derive_cross_entropy(mesh_shape const& mesh, sharding const& logits, int dim) {
  cross_entropy_work w;
  w.logits = logits;
  w.out = without<1>(logits, {logits[dim].id}, 1);
  w.out.partial = 0;
  w.dim = dim;
  w.r = rows_along(logits, dim, mesh);
  w.complete = logits.partial;
  w.exchange = logits[dim].cut.mask();
  return w;
}

template <class Backend, class T>
class cross_entropy_node {
 public:
  using A = compute_t<T>;
  constexpr cross_entropy_node(cross_entropy_work const& w, value<Backend, T> const& logits,
                               buffer<Backend> const& labels, buffer<Backend> const& lse,
                               ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), logits_(logits), labels_(labels), lse_(lse), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "cross_entropy", w_->logits);
    auto const g = out_->take(~w_->logits.cut_axes());  // whole over the axes that cut the classes
    if (!g.memory) return;
    auto dx = make_buffer<T>(b, w_->r.count() * w_->r.n);
    b.run(primitives::cross_entropy_vjp<T>{w_->r, shard_offset(w_->logits, w_->dim, b.ranks().mesh(), b.ranks().rank()),
                                           w_->logits[w_->dim].extent, data_of<T>(dx), logits_.data(),
                                           data_of<std::int32_t>(labels_), data_of<A>(lse_), data_of<T>(g.memory)});
    logits_.memory = {};
    logits_.slot->add({std::move(dx), g.partial});
  }

 private:
  cross_entropy_work const* w_;
  value<Backend, T> logits_;
  buffer<Backend> labels_, lse_;
  ref<gradient_slot<Backend, T>> out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_cross_entropy(cross_entropy_work const& w, value<Backend, T> const& operand,
                                              value<Backend, std::int32_t> const& labels) {
  using A = compute_t<T>;
  Backend& b = operand.backend();
  operation<Backend> const here(b, "cross_entropy", w.logits);
  auto const logits = completed_value(operand, w.logits, w.complete);
  auto const& r = w.r;
  auto const n = r.count();
  auto const count = static_cast<std::size_t>(n);
  auto out = make_value<T>(b, n);
  auto lse = make_buffer<A>(b, n);
  T const* x = logits.data();
  std::int32_t const* label = labels.data();
  if (w.exchange == 0) {
    b.run(primitives::cross_entropy<T>{r, out.data(), data_of<A>(lse), x, label});
  } else {
    auto const first = shard_offset(w.logits, w.dim, b.ranks().mesh(), b.ranks().rank());
    auto largest = make_buffer<A>(b, n), sums = make_buffer<A>(b, 2 * n);
    A *max = data_of<A>(largest), *sum = data_of<A>(sums);
    b.run(primitives::row_max<T>{r, A(1), causal_rule{}, max, x});
    b.all_reduce(w.exchange, combine::max, static_cast<A const*>(max), max, count);
    b.run(primitives::cross_entropy_local<T>{r, first, max, sum, x, label});
    b.all_reduce(w.exchange, combine::sum, static_cast<A const*>(sum), sum, 2 * count);
    b.run(primitives::cross_entropy_finish<T>{n, w.logits[w.dim].extent, out.data(), data_of<A>(lse), max, sum, label});
  }
  record(tape_of(logits), out, w.out,
         [&](auto const& slot) { return cross_entropy_node<Backend, T>(w, logits, labels.memory, lse, slot); });
  return out;
}

template <class X, class D>
struct cross_entropy_rule {
  static constexpr cross_entropy_work work = derive_cross_entropy(X::mesh, X::spec, X::spec.find(D::id));
  static constexpr sharding out = work.out;
};

}  // namespace detail

/// -log softmax(logits)[label] along Classes, for every other element of the logits: the result has their dimensions
/// without Classes, which are also those of `labels`, a tensor of int32 in [0, extent of Classes). A negative label is
/// ignored: its loss is 0 and has no gradient; the mean of the others is `weighted_mean(losses, labels >= 0)`. A label
/// at or above the extent gives NaN; `from_global<X, Classes>` refuses it before. If Classes is cut: an all-reduce of
/// one number an element (maximum), and one of two (sum, the label's logit); none backward unless the gradient arrives
/// partial over the axes of Classes. Refused: labels of another shape, or cut differently.
template <dimension Classes, operand X, operand Labels>
constexpr auto cross_entropy(X const& logits, Labels const& labels) {
  if constexpr (detail::any_refused<X, Labels>) {
    return refused{};
  } else {
    using verdict1 =
        detail::first_failed_t<detail::named_dims_t<typename X::shape_type, Classes>, detail::same_mesh_t<X, Labels>,
                               detail::floating_t<X>,
                               std::conditional_t<std::is_same_v<typename Labels::element_type, std::int32_t>, ok,
                                                  error_element_type<typename Labels::element_type>>>;
    if constexpr (!verdict1::value) {
      detail::require<verdict1>{};
      return refused{};
    } else {
      using rule = detail::cross_entropy_rule<typename X::description, Classes>;
      using out = detail::result_t<typename X::element_type, rule, X>;
      using verdict2 = detail::first_failed_t<
          detail::operands_verdict_t<detail::operands_together<typename X::description, typename Labels::description>,
                                     X, Labels>,
          std::conditional_t<detail::same_dims(rule::out, Labels::spec), ok,
                             error_shapes_differ<typename Labels::shape_type, typename out::shape_type>>>;
      if constexpr (!verdict2::value) {
        detail::require<verdict2>{};
        return refused{};
      } else {
        auto const ordered =
            detail::transposed(static_cast<typename out::shape_type const*>(nullptr), complete(labels));
        return out(detail::run_cross_entropy(rule::work, logits.value(), ordered.value()));
      }
    }
  }
}

}  // namespace mtf
