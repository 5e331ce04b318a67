#pragma once
// softmax, log_softmax and logsumexp along one dimension or several. A row is the elements along it. If the dimension
// is split, each rank has a part of every row, and the ranks exchange one number per row: its maximum, its sum.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/backend/primitives/log_softmax.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf {

namespace detail {

enum class soft : std::uint8_t { softmax, log_softmax, logsumexp };
constexpr char const* name_of(soft kind) {
  constexpr std::array<char const*, 3> names{"softmax", "log_softmax", "logsumexp"};
  return names[static_cast<std::size_t>(kind)];
}

struct softmax_work : operation_work<1> {
  soft kind = soft::softmax;
  int dim = 0;
  int query = -1;          // of scores, whose keys are partly hidden: the dimension of the queries
  axis_mask exchange = 0;  // axes that split the dimension
  rows r;                  // the shard as rows along the dimension
};

constexpr softmax_work derive_softmax(mesh_shape const& mesh, sharding const& in, int dim, int query, soft kind) {
  softmax_work w;
  w.kind = kind;
  w.dim = dim;
  w.query = query;
  w.in = {in};
  w.out = in;
  w.out.partial = 0;
  if (kind == soft::logsumexp) w.out = without<1>(w.out, {in[dim].id}, 1);
  w.complete[0] = in.partial;
  // The result of logsumexp lacks a dimension: over the axes that split it each rank needs the whole gradient.
  w.gradient_may_be_partial = ~in.split_axes();
  w.exchange = in[dim].split.mask();
  w.r = rows_along(in, dim, mesh);
  return w;
}

/// What the rows of the rank's shard see.
constexpr visible_rows visible_here(softmax_work const& w, visible const& seen, mesh_shape const& mesh, int rank) {
  visible_rows v;
  if (w.query < 0) return v;
  auto const& in = w.in[0];
  for (int d = w.query + 1; d < in.ndim; ++d)
    if (d != w.dim) v.stride *= in.local_extent(d, mesh);
  v.queries = in.local_extent(w.query, mesh);
  auto const first_key = shard_offset(in, w.dim, mesh, rank);
  v.seen = seen.on_shard(shard_offset(in, w.query, mesh, rank), first_key);
  return v;
}

/// Of each row over all ranks its maximum and its sum of exponentials.
template <class T, class A>
constexpr void exchange_statistics(auto& f, softmax_work const& w, rows const& r, A scale, visible_rows const& here,
                                   A* max, A* sum) {
  auto const n = static_cast<std::size_t>(r.count());
  f.run(primitives::row_max<T>{r, scale, max, f.x(), here});
  f.backend.communicate(collective::all_reduce(w.exchange, combine::max, element_of<A>, n), max, max);
  f.run(primitives::row_exp_sum<T>{r, scale, here, max, sum, f.x()});
  f.backend.communicate(collective::all_reduce(w.exchange, combine::sum, element_of<A>, n), sum, sum);
}
/// Of softmax and log_softmax, from the result.
template <class T>
constexpr void softmax_backward(auto& g, softmax_work const& w, compute_t<T> scale, visible_rows const& here) {
  using A = compute_t<T>;
  auto const r = rows_without_pads(w.r, w.in[0], w.dim, g.mesh(), g.rank());
  T* const dx = g.dx();
  T const* const y = data_of<T>(g.kept[0]);
  T const* const dy = g.dy();
  bool const is_log = w.kind == soft::log_softmax;
  std::remove_cvref_t<decltype(g.g.memory)> sums;  // of each row over all ranks, if the dimension is split
  A* s = nullptr;
  if (w.exchange != 0) {
    s = data_of<A>(sums = make_buffer<A>(g.backend, w.r.count()));
    is_log ? g.run(primitives::row_sum<T>{r, s, dy}) : g.run(primitives::row_dot<T>{r, s, y, dy, here});
    g.backend.communicate(
        collective::all_reduce(w.exchange, combine::sum, element_of<A>, static_cast<std::size_t>(w.r.count())), s, s);
  }
  is_log ? g.run(primitives::log_softmax_vjp<T>{r, dx, y, dy, s})
         : g.run(primitives::softmax_vjp<T>{r, scale, dx, y, dy, s, here});
}

template <class T>
struct softmax_operation {
  using A = compute_t<T>;
  softmax_work const* work;
  A scale;
  visible seen{};
  static constexpr std::size_t kept = 2;  // y; of logsumexp x, and each row's maximum and sum
  [[nodiscard]] constexpr char const* name() const { return name_of(work->kind); }

  constexpr void forward(auto& f) const {
    auto const r = rows_without_pads(work->r, work->in[0], work->dim, f.mesh(), f.rank());
    auto const here = visible_here(*work, seen, f.mesh(), f.rank());
    T* const y = f.y();
    T const* const x = f.x();
    std::remove_cvref_t<decltype(f.out)> statistics;  // of each row over all ranks: its maximum, its sum
    A *m = nullptr, *s = nullptr;
    if (work->exchange != 0 || work->kind == soft::logsumexp) {
      m = data_of<A>(statistics = make_buffer<A>(f.backend, 2 * r.count()));
      s = data_of<A>(statistics, r.count());
    }
    if (work->exchange != 0) exchange_statistics<T>(f, *work, r, scale, here, m, s);
    switch (work->kind) {
      case soft::softmax:
        f.run(primitives::softmax<T>{r, scale, here, y, x, m, s});
        break;
      case soft::log_softmax:
        f.run(primitives::log_softmax<T>{r, y, x, m, s});
        break;
      case soft::logsumexp:
        work->exchange == 0 ? f.run(primitives::logsumexp<T>{r, y, m, s, x})
                            : f.run(primitives::logsumexp_finish<T>{r.count(), y, m, s});
        f.kept = {f.memory(), statistics};
        return;
    }
    f.kept[0] = f.out;
  }
  constexpr void backward(auto& g) const {
    auto const r = rows_without_pads(work->r, work->in[0], work->dim, g.mesh(), g.rank());
    if (work->kind == soft::logsumexp)
      return g.run(primitives::logsumexp_vjp<T>{r, g.dx(), data_of<T>(g.kept[0]), data_of<A>(g.kept[1]),
                                                data_of<A>(g.kept[1], r.count()), g.dy()});
    softmax_backward<T>(g, *work, scale, visible_here(*work, seen, g.mesh(), g.rank()));
  }
};

struct no_query {
  static constexpr std::uint64_t id = 0;
};

template <soft Kind, class D, class Query = no_query>
struct softmax_call {
  double scale = 1;
  visible seen{};

  template <class X>
  static auto query_verdict() {
    if constexpr (std::is_same_v<Query, no_query>)
      return ok{};
    else
      return named_dims_t<typename X::shape_type, Query>{};
  }
  template <class X>
  static auto verdict()
      -> first_failed_t<floating_t<X>, named_dims_t<typename X::shape_type, D>, decltype(query_verdict<X>())>;

  static constexpr bool takes_pads = true;
  static constexpr softmax_work derive(mesh_shape const& mesh, sharding const& x) {
    return derive_softmax(mesh, x, x.find(D::id), x.find(Query::id), Kind);
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using described = typename X::description;
    return run_as<description_of<T, softmax_call, described>, softmax_call>(
        softmax_operation<T>{nullptr, static_cast<compute_t<T>>(scale), seen}, x);
  }
};

/// Along several dimensions, of other operations.
template <soft Kind, class... D>
struct softmax_of_several_call {
  double scale = 1;

  template <class X>
  static auto verdict() -> first_failed_t<floating_t<X>, named_dims_t<typename X::shape_type, D...>>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    auto const scaled = complete(x) * scale;
    auto const most = stop_gradient(reduce_max<D...>(scaled));
    auto const below = scaled - most;
    auto const powers = exp(below);
    auto const total = sum<D...>(powers);  // of bfloat16 it may be float
    if constexpr (Kind == soft::softmax)
      return powers / cast<T>(total);
    else if constexpr (Kind == soft::log_softmax)
      return below - cast<T>(log(total));
    else
      return most + cast<T>(log(total));
  }
};

}  // namespace detail

/// exp(scale x) normalized to sum 1 along Dim; a row's largest element is subtracted first. If Dim is not split: one
/// kernel each way, nothing is sent. If it is split: two all-reduces of one number per row (maximum, sum) forward, one
/// backward. A partial x is reduced first. Refused, here and below: a dimension that x lacks, integers and bools.
template <dimension Dim, operand X>
constexpr auto softmax(X const& x, double scale = 1) {
  return detail::operate(detail::softmax_call<detail::soft::softmax, Dim>{scale}, x);
}

/// Along several dimensions a row is all elements along them together: these functions are then several operations,
/// whose communication is that of `reduce_max` and `sum`.
template <dimension Dim, dimension Second, dimension... More, operand X>
constexpr auto softmax(X const& x, double scale = 1) {
  return detail::operate(detail::softmax_of_several_call<detail::soft::softmax, Dim, Second, More...>{scale}, x);
}
template <dimension Dim, dimension Second, dimension... More, operand X>
constexpr auto log_softmax(X const& x) {
  return detail::operate(detail::softmax_of_several_call<detail::soft::log_softmax, Dim, Second, More...>{}, x);
}
template <dimension Dim, dimension Second, dimension... More, operand X>
constexpr auto logsumexp(X const& x) {
  return detail::operate(detail::softmax_of_several_call<detail::soft::logsumexp, Dim, Second, More...>{}, x);
}

/// The logarithm of the softmax along Dim. Communication as for `softmax`.
template <dimension Dim, operand X>
constexpr auto log_softmax(X const& x) {
  return detail::operate(detail::softmax_call<detail::soft::log_softmax, Dim>{}, x);
}

/// log sum exp along Dim, which the result lacks. If Dim is split: two all-reduces of the result's size forward, none
/// backward unless the gradient arrives partial over Dim's axes.
template <dimension Dim, operand X>
constexpr auto logsumexp(X const& x) {
  return detail::operate(detail::softmax_call<detail::soft::logsumexp, Dim>{}, x);
}

}  // namespace mtf
