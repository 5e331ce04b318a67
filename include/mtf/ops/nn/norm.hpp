#pragma once
// Normalization along one dimension, with a learned scale (and shift).
#include <array>
#include <cstddef>
#include <type_traits>

#include <mtf/backend/primitives/norm.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/constants.hpp>

namespace mtf {

namespace detail {

/// Operands: x, gamma, and for layer_norm beta.
template <std::size_t N>
struct norm_work : operation_work<N> {
  rows r;  // the shard as rows along the dimension
  int dim = 0;
  axis_mask exchange = 0;  // axes that split the dimension
  index n = 1;             // the dimension's global extent
};

template <std::size_t N>
constexpr norm_work<N> derive_norm(mesh_shape const& mesh, std::array<sharding, N> const& in) {
  sharding const& x = in[0];
  int const d = x.find(in[1][0].id);  // the one dimension that gamma has
  norm_work<N> w;
  w.in = in;
  w.out = x;
  w.r = rows_along(x, d, mesh);
  w.exchange = x[d].split.mask();
  w.n = x[d].logical();
  w.dim = d;
  w.out.partial = 0;
  // If the gradient stayed partial, those of gamma and beta would be partial over more axes, and so cost more.
  w.gradient_may_be_partial = 0;
  for (std::size_t i = 0; i < N; ++i) {
    w.complete[i] = in[i].partial;
    if (i > 0) w.gradient_sums[i] = x.split_axes() & ~w.exchange;
  }
  return w;
}

template <class A>
struct scaled_by {
  A factor;
  MTF_FUNCTION constexpr A operator()(A x) const { return x * factor; }
};

/// Centered: layer_norm, with beta.
template <bool Centered, class T>
struct norm_operation {
  using A = compute_t<T>;
  static constexpr std::size_t operands = Centered ? 3 : 2;
  norm_work<operands> const* work;
  double epsilon;
  static constexpr std::size_t kept = 4;  // x, gamma, each row's mean and 1 / standard deviation
  static constexpr char const* name() { return Centered ? "layer_norm" : "rms_norm"; }

  constexpr void forward(auto& f) const {
    auto const r = rows_without_pads(work->r, work->in[0], work->dim, f.mesh(), f.rank());
    auto const n = r.count();
    auto const eps = static_cast<A>(epsilon);
    T* const y = f.y();
    auto means = make_buffer<A>(f.backend, n), rstds = make_buffer<A>(f.backend, n);
    A *const mean = data_of<A>(means), *const rstd = data_of<A>(rstds);
    T const *const x = f.x(), *const gamma = f.template x<1>(), *beta = nullptr;
    if constexpr (Centered) beta = f.template x<2>();
    if (work->exchange == 0) {
      f.run(primitives::norm<Centered, T>{r, eps, y, mean, rstd, x, gamma, beta});
    } else {
      auto const count = static_cast<std::size_t>(n);
      if constexpr (Centered) {
        f.run(primitives::row_sum<T>{r, mean, x});
        f.backend.communicate(collective::all_reduce(work->exchange, combine::sum, element_of<A>, count), mean, mean);
        loops<2> const flat{.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}};
        f.run(primitives::map<scaled_by<A>, A, A>{scaled_by<A>{A(1) / static_cast<A>(work->n)}, flat, mean, {mean}});
      }
      f.run(primitives::row_square_sum<T>{r, Centered ? mean : nullptr, rstd, x});
      f.backend.communicate(collective::all_reduce(work->exchange, combine::sum, element_of<A>, count), rstd, rstd);
      f.run(primitives::rows_statistics<A>{n, eps, work->n, rstd});
      f.run(primitives::norm_apply<Centered, T>{r, mean, rstd, y, x, gamma, beta});
    }
    f.kept = {f.memory(), f.template memory<1>(), means, rstds};
  }

  constexpr void backward(auto& g) const {
    using buffer = std::remove_cvref_t<decltype(g.g.memory)>;
    auto const r = rows_without_pads(work->r, work->in[0], work->dim, g.mesh(), g.rank());
    bool const adds = r.inner == 1 && r.step() == r.n && g.accumulator();
    T *const dx = g.dx(), *const dgamma = g.template dx<1>(), *dbeta = nullptr;
    buffer unused;
    if constexpr (Centered)
      dbeta = g.template dx<2>();
    else
      dbeta = data_of<T>(unused = make_buffer<T>(g.backend, r.n));
    T const *const x = data_of<T>(g.kept[0]), *const gamma = data_of<T>(g.kept[1]);
    A const *const mean = data_of<A>(g.kept[2]), *const rstd = data_of<A>(g.kept[3]);
    buffer sums;  // of each row over all ranks, if the dimension is split
    A *s1 = nullptr, *s2 = nullptr;
    if (work->exchange != 0) {
      sums = make_buffer<A>(g.backend, 2 * r.count());
      s1 = data_of<A>(sums);
      s2 = data_of<A>(sums, r.count());
      g.run(primitives::norm_vjp_sums<Centered, T>{r, s1, s2, g.dy(), x, gamma, mean, rstd});
      g.backend.communicate(
          collective::all_reduce(work->exchange, combine::sum, element_of<A>, static_cast<std::size_t>(2 * r.count())),
          s1, s1);
    }
    g.run(primitives::norm_vjp<Centered, T>{r, dx, dgamma, dbeta, g.dy(), x, gamma, mean, rstd, adds, work->n, s1, s2});
  }
};

/// What gamma and beta must look like: tensors over D.
template <class D, class S>
using parameter_shape_t = std::conditional_t<S::ndim == 1 && S::template has<D>, ok, error_shapes_differ<S, shape<D>>>;

template <class D>
struct norm_call {
  double epsilon;

  template <class X, class... P>
  static auto verdict() {
    return first_failed_t<named_dims_t<typename X::shape_type, D>, parameter_shape_t<D, typename P::shape_type>...,
                          same_element_t<X, P...>, floating_t<X>>{};
  }
  static constexpr bool takes_pads = true;
  static constexpr auto derive(mesh_shape const& mesh, auto const&... in) {
    return derive_norm<sizeof...(in)>(mesh, {in...});
  }
  template <class X, class... P>
  constexpr auto operator()(X const& x, P const&... parameter) const {
    using T = typename X::element_type;
    using out = reshaped<typename X::description, typename X::shape_type, 0>;
    return run_as<out, norm_call>(norm_operation < sizeof...(P) == 2, T > {nullptr, epsilon}, x, parameter...);
  }
};

/// Without learned parameters: gamma is 1, beta 0.
template <class D, bool Centered>
struct norm_alone_call {
  double epsilon;

  template <class X>
  static auto verdict() -> first_failed_t<named_dims_t<typename X::shape_type, D>, floating_t<X>>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using parameter =
        tensor<typename X::element_type, shape<D>, typename X::layout_type, partial<>, typename X::backend_type>;
    auto const place = parameter_place<parameter>(x);
    auto const gamma = filled(x.backend(), place, 1);
    if constexpr (Centered)
      return norm_call<D>{epsilon}(x, gamma, filled(x.backend(), place, 0));
    else
      return norm_call<D>{epsilon}(x, gamma);
  }

 private:
  /// Split as x is along D.
  template <class P, class X>
  static constexpr tensor_place<P> parameter_place([[maybe_unused]] X const& x) {
    if constexpr (by_value<X>) {
      sharding along;
      along.push(x.where().spec[x.where().spec.find(D::id)]);
      return tensor_place<P>(table_of(x).arranged(along, *x.where().layout));
    } else {
      return {};
    }
  }
};

template <class D>
struct norm_without_beta_call {
  double epsilon;

  template <class X, class Gamma>
  static auto verdict() {
    return norm_call<D>::template verdict<X, Gamma>();
  }
  template <class X, class Gamma>
  using operands_rule = norm_call<D>;
  template <class X, class Gamma>
  constexpr auto operator()(X const& x, Gamma const& gamma) const {
    return norm_call<D>{epsilon}(x, gamma, filled(x.backend(), place_of(gamma), 0));
  }
};

}  // namespace detail

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta along Dim; gamma and beta are tensors over Dim (Ba et al.
/// 2016). If Dim is not split: one kernel each way, nothing is sent. If it is split: two all-reduces of one number per
/// row forward, and backward one of two numbers per row. Partial operands and gradients are reduced first. The
/// gradients of gamma and beta are partial over the axes that split the other dimensions. Refused: a dimension that x
/// lacks, gamma or beta with other dimensions, integers, different element types, operands split differently.
template <dimension Dim, operand X, operand Gamma, operand Beta>
constexpr auto layer_norm(X const& x, Gamma const& gamma, Beta const& beta, double epsilon = 1e-5) {
  return detail::operate(detail::norm_call<Dim>{epsilon}, x, gamma, beta);
}

/// x / sqrt(mean of squares + epsilon) * gamma along Dim (Zhang & Sennrich 2019). As `layer_norm`, but if Dim is split,
/// one all-reduce of one number per row each way.
template <dimension Dim, operand X, operand Gamma>
constexpr auto rms_norm(X const& x, Gamma const& gamma, double epsilon = 1e-6) {
  return detail::operate(detail::norm_call<Dim>{epsilon}, x, gamma);
}

/// Without gamma and beta, or without beta.
template <dimension Dim, operand X>
constexpr auto layer_norm(X const& x, double epsilon = 1e-5) {
  return detail::operate(detail::norm_alone_call<Dim, true>{epsilon}, x);
}
template <dimension Dim, operand X, operand Gamma>
constexpr auto layer_norm(X const& x, Gamma const& gamma, double epsilon = 1e-5) {
  return detail::operate(detail::norm_without_beta_call<Dim>{epsilon}, x, gamma);
}
/// Without gamma.
template <dimension Dim, operand X>
constexpr auto rms_norm(X const& x, double epsilon = 1e-6) {
  return detail::operate(detail::norm_alone_call<Dim, false>{epsilon}, x);
}

}  // namespace mtf
