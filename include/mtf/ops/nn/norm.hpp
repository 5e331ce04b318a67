#pragma once
// Normalization along one dimension, with a learned scale (and shift).
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/norm.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/softmax.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/operand_rule.hpp>

namespace mtf {

namespace detail {

struct norm_work {
  sharding x, parameter;
  rows r;
  axis_mask complete_x = 0, complete_gamma = 0, complete_beta = 0;
  axis_mask exchange = 0;        // axes that cut the dimension
  axis_mask parameter_sums = 0;  // axes over which the parameters' gradients become partial
  index n = 1;                   // global extent
};

/// beta: that of gamma for rms_norm.
constexpr norm_work derive_norm(mesh_shape const& mesh, sharding const& x, sharding const& gamma,
                                sharding const& beta) {
  norm_work w;
  w.x = x;
  w.parameter = gamma;
  int const d = x.find(gamma[0].id);
  w.r = rows_along(x, d, mesh);
  w.complete_x = x.partial;
  w.complete_gamma = gamma.partial;
  w.complete_beta = beta.partial;
  w.exchange = x[d].cut.mask();
  w.parameter_sums = x.cut_axes() & ~w.exchange;
  w.n = x[d].extent;
  return w;
}

template <bool Centered, class Backend, class T>
class norm_node {
 public:
  using A = compute_t<T>;
  constexpr norm_node(norm_work const& w, value<Backend, T> const& x, value<Backend, T> const& gamma,
                      ref<gradient_slot<Backend, T>> const& beta, buffer<Backend> const& mean,
                      buffer<Backend> const& rstd, ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), x_(x), gamma_(gamma), beta_(beta), mean_(mean), rstd_(rstd), out_(out) {}
  constexpr void run() {
    // Completed here: were it passed on partial, the parameters' gradients would be partial over more axes.
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, Centered ? "layer_norm" : "rms_norm", w_->x);
    auto const g = out_->take(0);
    if (!g.memory) return;
    auto const& r = w_->r;
    buffer<Backend> dx;
    if (x_.slot && r.inner == 1) dx = x_.slot->accumulator(0);
    bool const adds = static_cast<bool>(dx);
    if (!adds) dx = make_buffer<T>(b, r.count() * r.n);
    auto dgamma = make_buffer<T>(b, r.n), dbeta = make_buffer<T>(b, r.n);
    T const *dy = data_of<T>(g.memory), *x = x_.data(), *gamma = gamma_.data();
    A const *mean = data_of<A>(mean_), *rstd = data_of<A>(rstd_);
    buffer<Backend> sums;  // of whole rows, where the dimension is cut
    if (w_->exchange != 0) {
      sums = make_buffer<A>(b, 2 * r.count());
      A *const s = data_of<A>(sums), *const s2 = data_of<A>(sums, r.count());
      b.run(primitives::norm_vjp_sums<Centered, T>{r, s, s2, dy, x, gamma, mean, rstd});
      b.all_reduce(w_->exchange, combine::sum, static_cast<A const*>(s), s, static_cast<std::size_t>(2 * r.count()));
    }
    A const *const s1 = sums ? data_of<A>(sums) : nullptr, *const s2 = sums ? data_of<A>(sums, r.count()) : nullptr;
    b.run(primitives::norm_vjp<Centered, T>{r, data_of<T>(dx), data_of<T>(dgamma), data_of<T>(dbeta), dy, x, gamma,
                                            mean, rstd, adds, w_->n, s1, s2});
    if (adds)
      x_.slot->added(dx);
    else if (x_.slot)
      x_.slot->add({std::move(dx), 0});
    if (gamma_.slot) gamma_.slot->add({std::move(dgamma), w_->parameter_sums});
    if (beta_) beta_->add({std::move(dbeta), w_->parameter_sums});
  }

 private:
  norm_work const* w_;
  value<Backend, T> x_, gamma_;
  ref<gradient_slot<Backend, T>> beta_;
  buffer<Backend> mean_, rstd_;
  ref<gradient_slot<Backend, T>> out_;
};

template <class A>
struct scaled_by {
  A factor;
  MTF_FUNCTION constexpr A operator()(A x) const { return x * factor; }
};

/// beta: null for rms_norm.
template <bool Centered, class Backend, class T>
constexpr value<Backend, T> run_norm(norm_work const& w, double epsilon, value<Backend, T> const& x_operand,
                                     value<Backend, T> const& gamma_operand, value<Backend, T> const* beta_operand) {
  using A = compute_t<T>;
  Backend& b = x_operand.backend();
  operation<Backend> const here(b, Centered ? "layer_norm" : "rms_norm", w.x);
  auto const x = completed_value(x_operand, w.x, w.complete_x);
  auto const gamma = completed_value(gamma_operand, w.parameter, w.complete_gamma);
  value<Backend, T> beta;
  if (beta_operand != nullptr) beta = completed_value(*beta_operand, w.parameter, w.complete_beta);
  auto const& r = w.r;
  auto const n = r.count();
  auto out = make_value<T>(b, n * r.n);
  auto means = make_buffer<A>(b, n), rstds = make_buffer<A>(b, n);
  A *mean = data_of<A>(means), *rstd = data_of<A>(rstds);
  auto const eps = static_cast<A>(epsilon);
  T const* shift = beta_operand == nullptr ? nullptr : beta.data();
  if (w.exchange == 0) {
    b.run(primitives::norm<Centered, T>{r, eps, out.data(), mean, rstd, x.data(), gamma.data(), shift});
  } else {
    auto const count = static_cast<std::size_t>(n);
    if constexpr (Centered) {
      b.run(primitives::row_sum<T>{r, mean, x.data()});
      b.all_reduce(w.exchange, combine::sum, static_cast<A const*>(mean), mean, count);
      loops<2> const flat{.rank = 1, .extent = {n}, .stride = {extents{1}, extents{1}}};
      b.run(primitives::map<scaled_by<A>, A, A>{scaled_by<A>{A(1) / static_cast<A>(w.n)}, flat, mean, {mean}});
    }
    b.run(primitives::row_square_sum<T>{r, Centered ? mean : nullptr, rstd, x.data()});
    b.all_reduce(w.exchange, combine::sum, static_cast<A const*>(rstd), rstd, count);
    b.run(primitives::rows_statistics<A>{n, eps, w.n, rstd});
    b.run(primitives::norm_apply<Centered, T>{r, mean, rstd, out.data(), x.data(), gamma.data(), shift});
  }
  record(tape_of(x, gamma, beta), out, w.x,
         [&](auto const& slot) { return norm_node<Centered, Backend, T>(w, x, gamma, beta.slot, means, rstds, slot); });
  return out;
}

template <class D, class X, class... P>
struct norm_rule {
  static constexpr auto merged = merge_operands<1 + sizeof...(P)>({X::spec, P::spec...}, linearity::none);
  static constexpr norm_work work =
      derive_norm(X::mesh, X::spec, nth<0, P...>::spec, nth<sizeof...(P) - 1, P...>::spec);
  static constexpr sharding make() {
    sharding s = X::spec;
    s.partial = 0;
    return s;
  }
  static constexpr sharding out = make();
};

template <class D, class... S>
struct parameter_shapes {
  using type = ok;
};
template <class D, class S, class... Rest>
struct parameter_shapes<D, S, Rest...>
    : std::conditional<S::rank == 1 && S::template has<D>, typename parameter_shapes<D, Rest...>::type,
                       error_shapes_differ<S, shape<D>>> {};

template <class D, class X, class... P>
constexpr auto normalize(double epsilon, X const& x, P const&... parameter) {
  if constexpr (any_refused<X, P...>) {
    return refused{};
  } else {
    using verdict1 = first_failed_t<named_dims_t<typename X::shape_type, D>,
                                    typename parameter_shapes<D, typename P::shape_type...>::type, same_mesh_t<X, P...>,
                                    same_element_t<X, P...>, floating_t<X>>;
    if constexpr (!verdict1::value) {
      require<verdict1>{};
      return refused{};
    } else {
      using rule = norm_rule<D, typename X::description, typename P::description...>;
      using verdict2 = operands_verdict_t<rule, X, P...>;
      if constexpr (!verdict2::value) {
        require<verdict2>{};
        return refused{};
      } else {
        using out = result_t<typename X::element_type, rule, X>;
        std::tuple<P const&...> const p(parameter...);
        if constexpr (sizeof...(P) == 2)
          return out(run_norm<true>(rule::work, epsilon, x.value(), std::get<0>(p).value(), &std::get<1>(p).value()));
        else
          return out(run_norm<false>(rule::work, epsilon, x.value(), std::get<0>(p).value(),
                                     static_cast<std::remove_cvref_t<decltype(x.value())> const*>(nullptr)));
      }
    }
  }
}

}  // namespace detail

/// (x - mean) / sqrt(variance + epsilon) * gamma + beta along Dim; gamma and beta are tensors over Dim (Ba et al.
/// 2016). One kernel forward, one backward. If Dim is cut: two all-reduces of one number a row forward, one of two
/// backward. The gradients of gamma and beta are partial over the axes that cut the other dimensions.
template <dimension Dim, operand X, operand Gamma, operand Beta>
constexpr auto layer_norm(X const& x, Gamma const& gamma, Beta const& beta, double epsilon = 1e-5) {
  return detail::normalize<Dim>(epsilon, x, gamma, beta);
}

/// x / sqrt(mean of squares + epsilon) * gamma along Dim (Zhang & Sennrich 2019). One all-reduce each way if Dim is
/// cut.
template <dimension Dim, operand X, operand Gamma>
constexpr auto rms_norm(X const& x, Gamma const& gamma, double epsilon = 1e-6) {
  return detail::normalize<Dim>(epsilon, x, gamma);
}

}  // namespace mtf
