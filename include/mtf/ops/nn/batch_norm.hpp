#pragma once
// Normalization by the statistics of a batch, and of groups of channels.
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/math/functions.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>  // IWYU pragma: keep (operators)
#include <mtf/ops/movement/split_dim.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/ops/nn/norm.hpp>

namespace mtf {

namespace detail {

/// Operands: x, and gamma and beta over the dimensions that stay; or x alone. Results: y, and along these dimensions
/// the mean and the variance.
template <std::size_t N>
struct batch_norm_work : operation_work<N, 3> {
  axis_mask exchange = 0;  // axes that split what is averaged over
  double count = 1;        // elements behind one mean, globally
};

template <std::size_t N>
constexpr batch_norm_work<N> derive_batch_norm(std::array<sharding, N> const& in, sharding const& statistics) {
  sharding const& x = in[0];
  batch_norm_work<N> w;
  w.in = in;
  w.out = x;
  w.out.partial = 0;
  w.further = {statistics, statistics};
  w.exchange = axes_of_others(statistics, x);
  for (int d = 0; d < x.ndim; ++d)
    if (!statistics.has(x[d].id)) w.count *= static_cast<double>(x[d].logical());
  // The sums of a gradient and of its products with what was normalized are the gradients of beta and gamma: taken
  // once, over all ranks.
  w.gradient_may_be_partial = 0;
  for (std::size_t i = 0; i < N; ++i) w.complete[i] = in[i].partial;
  return w;
}

template <class A>
struct times {
  A factor;
  MTF_FUNCTION constexpr A operator()(A x) const { return x * factor; }
};
struct squared_distance {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A x, A mean) const {
    return (x - mean) * (x - mean);
  }
};
template <class A>
struct inverse_deviation {
  A epsilon;
  MTF_FUNCTION A operator()(A variance) const { return math::rsqrt(variance + epsilon); }
};
struct normalized {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A x, A mean, A rstd) const {
    return (x - mean) * rstd;
  }
  template <class A>
  MTF_FUNCTION constexpr A operator()(A x, A mean, A rstd, A gamma, A beta) const {
    return (x - mean) * rstd * gamma + beta;
  }
};
struct times_normalized {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A g, A x, A mean, A rstd) const {
    return g * ((x - mean) * rstd);
  }
};
/// From the means of the gradient and of its products with what was normalized.
struct batch_norm_vjp {
  template <class A>
  MTF_FUNCTION constexpr A operator()(A g, A x, A mean, A rstd, A of_g, A of_product) const {
    return rstd * (g - of_g - (x - mean) * rstd * of_product);
  }
  template <class A>
  MTF_FUNCTION constexpr A operator()(A g, A x, A mean, A rstd, A of_g, A of_product, A gamma) const {
    return gamma * (*this)(g, x, mean, rstd, of_g, of_product);
  }
};

template <class T, bool Affine>
struct batch_norm_operation {
  using A = compute_t<T>;
  static constexpr std::size_t operands = Affine ? 3 : 1;
  batch_norm_work<operands> const* work;
  double epsilon;
  static constexpr std::size_t kept = Affine ? 4 : 3;  // x, the means, 1 / the standard deviations, gamma
  static constexpr char const* name() { return "batch_norm"; }

  constexpr void forward(auto& f) const {
    A *const mean = f.template y<1>(), *const variance = f.template y<2>();
    auto rstds = make_buffer<A>(f.backend, statistics(f));
    A* const rstd = data_of<A>(rstds);
    T const* const x = f.x();
    T* const y = f.y();
    average(f, mean, x, 1 / work->count);
    {
      auto const squares = make_buffer<A>(f.backend, work->in[0].local_size(f.mesh()));
      f.run(primitives::map<squared_distance, A, T, A>{
          {}, aligned<2>(f.mesh(), work->out, {work->in[0], stays()}), data_of<A>(squares), {x, mean}});
      average(f, variance, static_cast<A const*>(data_of<A>(squares)), 1 / work->count);
    }
    f.run(primitives::map<inverse_deviation<A>, A, A>{{static_cast<A>(epsilon)}, flat(f), rstd, {variance}});
    if constexpr (Affine)
      f.run(primitives::map<normalized, T, T, A, A, T, T>{
          {},
          aligned<5>(f.mesh(), work->out, {work->in[0], stays(), stays(), work->in[1], work->in[2]}),
          y,
          {x, mean, rstd, f.template x<1>(), f.template x<2>()}});
    else
      f.run(primitives::map<normalized, T, T, A, A>{
          {}, aligned<3>(f.mesh(), work->out, {work->in[0], stays(), stays()}), y, {x, mean, rstd}});
    f.kept[0] = f.memory();
    f.kept[1] = f.template result<1>();
    f.kept[2] = rstds;
    if constexpr (Affine) f.kept[3] = f.template memory<1>();
  }

  constexpr void backward(auto& g) const {
    index const n = statistics(g), size = work->in[0].local_size(g.mesh());
    T const *const x = data_of<T>(g.kept[0]), *const dy = g.dy();
    A const *const mean = data_of<A>(g.kept[1]), *const rstd = data_of<A>(g.kept[2]);
    auto const sums = make_buffer<A>(g.backend, 2 * n);
    A *const of_g = data_of<A>(sums), *const of_product = data_of<A>(sums, n);
    sum(g, of_g, dy);
    {
      auto const products = make_buffer<A>(g.backend, size);
      g.run(primitives::map<times_normalized, A, T, T, A, A>{
          {},
          aligned<4>(g.mesh(), work->out, {work->out, work->in[0], stays(), stays()}),
          data_of<A>(products),
          {dy, x, mean, rstd}});
      sum(g, of_product, static_cast<A const*>(data_of<A>(products)));
    }
    exchange(g, of_g, 2 * n);
    if constexpr (Affine) {
      g.run(primitives::copy<T, A>{aligned<1>(g.mesh(), work->in[1], {stays()}), g.template dx<1>(),
                                   static_cast<A const*>(of_product)});
      g.run(primitives::copy<T, A>{aligned<1>(g.mesh(), work->in[2], {stays()}), g.template dx<2>(),
                                   static_cast<A const*>(of_g)});
    }
    loops<2> const both{.ndim = 1, .extent = {2 * n}, .stride = {extents{1}, extents{1}}};
    g.run(primitives::map<times<A>, A, A>{{static_cast<A>(1 / work->count)}, both, of_g, {of_g}});
    if constexpr (Affine)
      g.run(primitives::map<batch_norm_vjp, T, T, T, A, A, A, A, T>{
          {},
          aligned<7>(g.mesh(), work->in[0], {work->out, work->in[0], stays(), stays(), stays(), stays(), work->in[1]}),
          g.dx(),
          {dy, x, mean, rstd, of_g, of_product, data_of<T>(g.kept[3])}});
    else
      g.run(primitives::map<batch_norm_vjp, T, T, T, A, A, A, A>{
          {},
          aligned<6>(g.mesh(), work->in[0], {work->out, work->in[0], stays(), stays(), stays(), stays()}),
          g.dx(),
          {dy, x, mean, rstd, of_g, of_product}});
  }

 private:
  [[nodiscard]] constexpr sharding const& stays() const { return work->further[0]; }
  [[nodiscard]] constexpr index statistics(auto const& pass) const { return stays().local_size(pass.mesh()); }
  [[nodiscard]] constexpr loops<2> flat(auto const& pass) const {
    return {.ndim = 1, .extent = {statistics(pass)}, .stride = {extents{1}, extents{1}}};
  }
  /// Of what is on this rank, without pads.
  template <class E>
  constexpr void sum(auto const& pass, A* to, E const* from) const {
    auto const here = reduction_to(pass.mesh(), stays(), work->in[0], work->in[0].padded ? pass.rank() : -1);
    bool empty = false;
    for (int d = 0; d < here.reduced.ndim; ++d) empty = empty || here.reduced.extent[static_cast<std::size_t>(d)] == 0;
    if (empty)
      pass.run(primitives::fill<A>{to, statistics(pass), A(0)});
    else
      pass.run(primitives::reduce<E, A>{combine::sum, here, to, from});
  }
  constexpr void exchange(auto& pass, A* inout, index n) const {
    if (work->exchange != 0)
      pass.backend.communicate(
          collective::all_reduce(work->exchange, combine::sum, element_of<A>, static_cast<std::size_t>(n)), inout,
          inout);
  }
  template <class E>
  constexpr void average(auto& f, A* to, E const* from, double factor) const {
    sum(f, to, from);
    exchange(f, to, statistics(f));
    f.run(primitives::map<times<A>, A, A>{{static_cast<A>(factor)}, flat(f), to, {to}});
  }
};

/// What is averaged over goes away.
template <class... D>
struct batch_norm_call {
  double epsilon;

  template <class P, class X>
  static auto parameter_verdict() {
    using own = typename P::shape_type;
    constexpr bool stays = own::ndim + static_cast<int>(sizeof...(D)) == X::shape_type::ndim &&
                           has_all<typename X::shape_type>(static_cast<own const*>(nullptr)) &&
                           (!own::template has<D> && ...);
    return std::conditional_t<stays, ok, error_shapes_differ<typename X::shape_type, own>>{};
  }
  template <class Shape, class... Own>
  static constexpr bool has_all(shape<Own...> const*) {
    return (Shape::template has<Own> && ...);
  }
  template <class X, class... P>
  static auto verdict() {
    using names = named_dims_t<typename X::shape_type, D...>;
    if constexpr (!names::value)
      return names{};
    else
      return first_failed_t<decltype(parameter_verdict<P, X>())..., same_element_t<X, P...>, floating_t<X>>{};
  }
  static constexpr bool takes_pads = true;
  static constexpr auto derive(mesh_shape const&, auto const&... in) {
    std::array<sharding, sizeof...(in)> const all{in...};
    sharding stays = without(all[0], std::array<std::uint64_t, sizeof...(D)>{D::id...}, sizeof...(D));
    stays.partial = 0;
    return derive_batch_norm<sizeof...(in)>(all, stays);
  }
  template <class X, class... P>
  constexpr auto operator()(X const& x, P const&... parameter) const {
    using T = typename X::element_type;
    using A = compute_t<T>;
    using described_x = typename X::description;
    using y = reshaped<described_x, typename X::shape_type, 0>;
    using rule = out_of<batch_norm_call, 1, described_x, typename P::description...>;
    using statistics = typename result_description<A, rule, concat_t<typename X::shape_type>, described_x>::type;
    auto const [normal, mean, variance] = run_as<list<y, statistics, statistics>, batch_norm_call>(
        batch_norm_operation < T, sizeof...(P) != 0 > {nullptr, epsilon}, x, parameter...);
    return std::tuple(normal, stop_gradient(mean), stop_gradient(variance));
  }
};

template <class D, class Group, class Within, class... More>
struct group_norm_call {
  double epsilon;

  template <class X, class Gamma, class Beta>
  static auto verdict()
      -> first_failed_t<named_dims_t<typename X::shape_type, D, More...>,
                        parameter_shape_t<D, typename Gamma::shape_type>,
                        parameter_shape_t<D, typename Beta::shape_type>, same_element_t<X, Gamma, Beta>, floating_t<X>>;
  template <class X, class Gamma, class Beta>
  using operands_rule = said_by_parts;
  static constexpr char const* name = "group_norm";
  template <class X, class Gamma, class Beta>
  constexpr auto operator()(X const& x, Gamma const& gamma, Beta const& beta) const {
    auto const parts = split_dim<D, Group, Within>(x);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(parts)>, refused>)
      return refused{};
    else
      return merge_dims<Group, Within, D>(std::get<0>(batch_norm_call<Within, More...>{epsilon}(parts))) * gamma + beta;
  }
};

}  // namespace detail

/// `auto const [y, mean, variance] = mtf::batch_norm<batch, length>(x, gamma, beta)`: (x - mean) / sqrt(variance +
/// epsilon) * gamma + beta, with the mean and the variance over the named dimensions (Ioffe & Szegedy 2015); gamma and
/// beta are tensors over all others. Both statistics are returned as constants, in the type that x is computed in, for
/// running averages: a state of the program, which its step returns. (The variance is divided by the number of
/// elements; PyTorch's running one by one less.) With such averages, in evaluation, y is (x - mean) times
/// rsqrt(variance + epsilon), times gamma, plus beta.
///
/// Differences from the mean are squared, so nothing cancels. Axes that split the named dimensions: two all-reduces of
/// the statistics forward, and one of both sums backward, which are the gradients of gamma and beta. Partial operands
/// and gradients are reduced first. Refused: dimensions that x lacks, gamma or beta with others than stay, integers,
/// different element types, operands split differently.
template <dimension First, dimension... More, operand X, operand Gamma, operand Beta>
constexpr auto batch_norm(X const& x, Gamma const& gamma, Beta const& beta, double epsilon = 1e-5) {
  return detail::operate_for<3>(detail::batch_norm_call<First, More...>{epsilon}, x, gamma, beta);
}

/// The same of each group of neighbours along Dim: Group is how many there are, Within how many are in each; averaged
/// over Within and `More`, such as height and width (Wu & He 2018). gamma and beta are tensors over Dim. Sends what
/// `split_dim` and `merge_dims` of Dim send besides: where the layout splits Group as Dim, nothing.
template <dimension Dim, dimension Group, dimension Within, dimension... More, operand X, operand Gamma, operand Beta>
constexpr auto group_norm(X const& x, Gamma const& gamma, Beta const& beta, double epsilon = 1e-5) {
  return detail::operate(detail::group_norm_call<Dim, Group, Within, More...>{epsilon}, x, gamma, beta);
}

}  // namespace mtf
