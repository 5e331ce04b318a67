#pragma once
// softmax, log_softmax and logsumexp along one dimension, which may be cut: then only statistics of the rows are sent.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/log_softmax.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

enum class soft : std::uint8_t { softmax, log_softmax, logsumexp };
constexpr char const* name_of(soft kind) {
  constexpr std::array<char const*, 3> names{"softmax", "log_softmax", "logsumexp"};
  return names[static_cast<std::size_t>(kind)];
}

struct softmax_work {
  sharding in, out;
  int dim = 0;
  int query = -1;          // causal mask: the dimension of the queries
  axis_mask complete = 0;  // sums to take before
  axis_mask exchange = 0;  // axes that cut the dimension
  rows r;
};

constexpr softmax_work derive_softmax(mesh_shape const& mesh, sharding const& in, int dim, int query, soft kind) {
  softmax_work w;
  w.in = in;
  w.out = in;
  w.out.partial = 0;
  if (kind == soft::logsumexp) w.out = without<1>(w.out, {in[dim].id}, 1);
  w.dim = dim;
  w.query = query;
  w.complete = in.partial;
  w.exchange = in[dim].cut.mask();
  w.r = rows_along(in, dim, mesh);
  return w;
}

/// Which positions the rank's rows and columns stand for.
constexpr causal_rule causal_of(softmax_work const& w, mesh_shape const& mesh, int rank) {
  causal_rule c;
  if (w.query < 0) return c;
  c.on = true;
  for (int d = w.query + 1; d < w.in.rank; ++d)
    if (d != w.dim) c.query_stride *= w.in.local_extent(d, mesh);
  c.query_extent = w.in.local_extent(w.query, mesh);
  c.query_offset = shard_offset(w.in, w.query, mesh, rank);
  c.key_offset = shard_offset(w.in, w.dim, mesh, rank);
  return c;
}

template <class Backend, class T>
class softmax_node {
 public:
  using A = compute_t<T>;
  constexpr softmax_node(soft kind, softmax_work const& w, A scale, value<Backend, T> const& in,
                         buffer<Backend> const& out, ref<gradient_slot<Backend, T>> const& slot)
      : kind_(kind), w_(&w), scale_(scale), x_(in), y_(out), out_(slot) {
    if (kind != soft::logsumexp) x_.memory = {};
  }
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, name_of(kind_), w_->in);
    // The result of logsumexp lacks a dimension: over the axes that cut it each rank needs the whole gradient.
    auto g = out_->take(~w_->in.cut_axes());
    if (!g.memory) return;
    auto const& r = w_->r;
    auto dx = make_buffer<T>(b, r.count() * r.n);
    T* to = data_of<T>(dx);
    T const* y = data_of<T>(y_);
    T const* dy = data_of<T>(g.memory);
    if (kind_ == soft::logsumexp) {
      b.run(primitives::logsumexp_vjp<T>{r, to, x_.data(), y, dy});
    } else {
      buffer<Backend> sums;  // of whole rows, where the dimension is cut
      if (w_->exchange != 0) {
        sums = make_buffer<A>(b, r.count());
        A* const s = data_of<A>(sums);
        kind_ == soft::softmax ? b.run(primitives::row_dot<T>{r, s, y, dy}) : b.run(primitives::row_sum<T>{r, s, dy});
        b.all_reduce(w_->exchange, combine::sum, static_cast<A const*>(s), s, static_cast<std::size_t>(r.count()));
      }
      A const* const s = sums ? data_of<A>(sums) : nullptr;
      kind_ == soft::softmax ? b.run(primitives::softmax_vjp<T>{r, scale_, to, y, dy, s})
                             : b.run(primitives::log_softmax_vjp<T>{r, to, y, dy, s});
    }
    y_ = {};
    x_.slot->add({std::move(dx), g.partial});
  }

 private:
  soft kind_;
  softmax_work const* w_;
  A scale_;
  value<Backend, T> x_;
  buffer<Backend> y_;
  ref<gradient_slot<Backend, T>> out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_softmax(soft kind, softmax_work const& w, compute_t<T> scale,
                                        value<Backend, T> const& operand) {
  using A = compute_t<T>;
  Backend& b = operand.backend();
  operation<Backend> const here(b, name_of(kind), w.in);
  auto const x = completed_value(operand, w.in, w.complete);
  auto const& r = w.r;
  auto const causal = causal_of(w, b.ranks().mesh(), b.ranks().rank());
  auto out = make_value<T>(b, kind == soft::logsumexp ? r.count() : r.count() * r.n);
  T const* in = x.data();
  buffer<Backend> largest, sums;  // of whole rows, where the dimension is cut
  if (w.exchange != 0) {
    auto const n = static_cast<std::size_t>(r.count());
    largest = make_buffer<A>(b, r.count());
    sums = make_buffer<A>(b, r.count());
    A *const max = data_of<A>(largest), *const sum = data_of<A>(sums);
    b.run(primitives::row_max<T>{r, scale, causal, max, in});
    b.all_reduce(w.exchange, combine::max, static_cast<A const*>(max), max, n);
    b.run(primitives::row_exp_sum<T>{r, scale, causal, max, sum, in});
    b.all_reduce(w.exchange, combine::sum, static_cast<A const*>(sum), sum, n);
  }
  A const *const m = largest ? data_of<A>(largest) : nullptr, *const s = sums ? data_of<A>(sums) : nullptr;
  switch (kind) {
    case soft::softmax:
      b.run(primitives::softmax<T>{r, scale, causal, out.data(), in, m, s});
      break;
    case soft::log_softmax:
      b.run(primitives::log_softmax<T>{r, out.data(), in, m, s});
      break;
    case soft::logsumexp:
      w.exchange == 0 ? b.run(primitives::logsumexp<T>{r, out.data(), in})
                      : b.run(primitives::logsumexp_finish<T>{r.count(), out.data(), m, s});
      break;
  }
  record(tape_of(x), out, w.out,
         [&](auto const& slot) { return softmax_node<Backend, T>(kind, w, scale, x, out.memory, slot); });
  return out;
}

struct no_query {
  static constexpr std::uint64_t id = 0;
};

template <soft Kind, class X, class D, class Query>
struct softmax_rule {
  static constexpr softmax_work work =
      derive_softmax(X::mesh, X::spec, X::spec.find(D::id), X::spec.find(Query::id), Kind);
  static constexpr sharding out = work.out;
};

template <soft Kind, class D, class Query, class X>
constexpr auto soft_along(X const& x, double scale) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using shape = typename X::shape_type;
    using query_verdict =
        typename std::conditional_t<std::is_same_v<Query, no_query>, named_dims<shape>, named_dims<shape, Query>>::type;
    using verdict = first_failed_t<floating_t<X>, named_dims_t<shape, D>, query_verdict>;
    if constexpr (!verdict::value) {
      require<verdict>{};
      return refused{};
    } else {
      using rule = softmax_rule<Kind, typename X::description, D, Query>;
      using out = result_t<typename X::element_type, rule, X>;
      return out(run_softmax(Kind, rule::work, static_cast<compute_of_t<X>>(scale), x.value()));
    }
  }
}

}  // namespace detail

/// exp(scale x) normalized to sum 1 along Dim, in one kernel forward and backward; a row's largest element is
/// subtracted first. If Dim is cut, two all-reduces of one number a row (maximum, sum) forward and one backward.
template <dimension Dim, operand X>
constexpr auto softmax(X const& x, double scale = 1) {
  return detail::soft_along<detail::soft::softmax, Dim, detail::no_query>(x, scale);
}

/// Softmax along Key of the entries whose key position does not exceed their query position; the others are 0: the
/// attention of a decoder (Vaswani et al. 2017, 3.2.3). Either dimension may be cut; communication as for `softmax`.
template <dimension Query, dimension Key, operand X>
constexpr auto causal_softmax(X const& x, double scale = 1) {
  return detail::soft_along<detail::soft::softmax, Key, Query>(x, scale);
}

/// The logarithm of the softmax along Dim. Communication as for `softmax`.
template <dimension Dim, operand X>
constexpr auto log_softmax(X const& x) {
  return detail::soft_along<detail::soft::log_softmax, Dim, detail::no_query>(x, 1);
}

/// log sum exp along Dim, which the result lacks. If Dim is cut: two all-reduces of the result forward, none backward
/// unless the gradient arrives partial over Dim's axes.
template <dimension Dim, operand X>
constexpr auto logsumexp(X const& x) {
  return detail::soft_along<detail::soft::logsumexp, Dim, detail::no_query>(x, 1);
}

}  // namespace mtf
