#pragma once
// Several tensors as one with a dimension more, and one as several with a dimension less.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/new_dims.hpp>
#include <mtf/ops/movement/transpose.hpp>

namespace mtf {

/// A dimension along which tensors are to be stacked, and is not as long as they are many.
template <class Dim, std::size_t Operands>
struct error_not_as_many : detail::failed {};

namespace detail {

template <class D, std::size_t Operands, class... By>
struct require<error_not_as_many<D, Operands>, By...> {
  static_assert(never<D>,
                MTF_SENTENCE("mtf: a dimension along which tensors are stacked is as long as they are many", D));
};

/// f(constants 0, 1, ... N - 1), one after the other.
template <std::size_t N, class F>
constexpr void each_constant(F const& f) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<N>{});
}

template <class T, std::size_t N>
struct stack_operation {
  operation_work<N> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "stacked"; }

  constexpr void forward(auto& f) const {
    f.y();
    each_constant<N>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if (index const at = place_of(I, f); at >= 0)
        f.run(primitives::copy<T, T>{all(f), data_of<T>(f.out, at), f.template x<I>()});
    });
  }
  constexpr void backward(auto& g) const {
    each_constant<N>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if (!g.template wants<I>()) return;
      T* const dx = g.template dx<I>();
      if (index const at = place_of(I, g); at >= 0)
        g.run(primitives::copy<T, T>{all(g), dx, data_of<T>(g.g.memory, at)});
      else
        g.run(primitives::fill<T>{dx, size(g), T(0)});
    });
  }

 private:
  [[nodiscard]] constexpr index size(auto const& pass) const { return work->in[0].local_size(pass.mesh()); }
  [[nodiscard]] constexpr loops<2> all(auto const& pass) const {
    return {.ndim = 1, .extent = {size(pass)}, .stride = {extents{1}, extents{1}}};
  }
  /// Where an operand begins in the rank's shard of the result; below 0: it is not there.
  [[nodiscard]] constexpr index place_of(std::size_t i, auto const& pass) const {
    index const at = static_cast<index>(i) - shard_offset(work->out, 0, pass.mesh(), pass.rank());
    return at >= 0 && at < work->out.local_extent(0, pass.mesh()) ? at * size(pass) : -1;
  }
};

/// Of operands whose dimensions are in one order.
template <class D>
struct stack_rule {
  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  using pads = shape<D>;
  template <class Layout, class... Others>
  static constexpr sharding target(Layout const& layout, sharding const& x, Others const&... others) {
    sharding to;
    to.push(dim_under<D>(layout, 1 + static_cast<index>(sizeof...(Others))));
    for (int d = 0; d < x.ndim; ++d) to.push(x[d]);
    to.partial = (x.partial & ... & others.partial) & ~to.split_axes();
    return to;
  }
  template <class... X>
  static constexpr operation_work<sizeof...(X)> derive_under(auto const& layout, mesh_shape const&, X const&... x) {
    operation_work<sizeof...(X)> w;
    w.in = {x...};
    w.out = target(layout, x...);
    for (std::size_t i = 0; i < sizeof...(X); ++i) {
      w.complete[i] = w.in[i].partial & ~w.out.partial;
      w.gradient_sums[i] = w.out[0].split.mask();
    }
    return w;
  }
};

template <class D>
struct stack_call {
  static constexpr char const* name = "stacked";
  template <class... X>
  using operands_rule = stack_rule<D>;
  template <class... Own>
  static auto stacked_shape(shape<Own...> const*) -> shape<D, Own...>;
  template <class X>
  using stacked = decltype(stacked_shape(static_cast<typename X::shape_type const*>(nullptr)));

  template <class X, class... Y>
  static auto verdict() {
    using own = typename X::shape_type;
    constexpr std::size_t many = 1 + sizeof...(Y);
    using names =
        first_failed_t<std::conditional_t<own::template has<D>, error_dim_already_there<D, own>, ok>,
                       std::conditional_t<!has_extent<D> || extent_in_type<D>() == static_cast<std::int64_t>(many), ok,
                                          error_not_as_many<D, many>>,
                       decltype(dims_verdict<Y>(static_cast<own const*>(nullptr)))..., same_element_t<X, Y...>>;
    if constexpr (!names::value)
      return names{};
    else
      return tensor_verdict_t<stacked<X>, typename X::layout_type>{};
  }
  template <class X, class... Y>
  constexpr auto operator()(X const& x, Y const&... y) const {
    return run(x, transposed(static_cast<typename X::shape_type const*>(nullptr), y)...);
  }

 private:
  template <class X, class... Y>
  static constexpr auto run(X const& x, Y const&... y) {
    using described_x = typename X::description;
    constexpr auto partial = work_in_types<stack_rule<D>, described_x, typename Y::description...>.out.partial;
    using operation = stack_operation<typename X::element_type, 1 + sizeof...(Y)>;
    return run_as<reshaped<described_x, stacked<described_x>, partial>, stack_rule<D>>(operation{}, x, y...);
  }
};

/// Each of N results is one position of the operand's dimension: on ranks that have it; nothing on others.
template <std::size_t N>
struct unstack_work : operation_work<1, N> {
  rows x;
  int dim = 0;

  /// Where the i-th begins in the rank's shard; below 0: it is not there.
  [[nodiscard]] constexpr index place_of(std::size_t i, auto const& pass) const {
    index const at = static_cast<index>(i) - shard_offset(this->in[0], dim, pass.mesh(), pass.rank());
    return at >= 0 && at < x.n ? at * x.inner : -1;
  }
  /// Between that and what the result has of it.
  [[nodiscard]] constexpr loops<2> copied(bool from_x) const {
    extents const in_x{x.n * x.inner, 1}, alone{x.inner, 1};
    return collapsed(
        loops<2>{.ndim = 2, .extent = {x.outer, x.inner}, .stride = {from_x ? alone : in_x, from_x ? in_x : alone}});
  }
};

template <class T, std::size_t N>
struct unstack_operation {
  unstack_work<N> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "unstacked"; }

  constexpr void forward(auto& f) const {
    each_constant<N>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      T* const y = f.template y<I>();
      if (index const at = work->place_of(I, f); at >= 0)
        f.run(primitives::copy<T, T>{work->copied(true), y, data_of<T>(f.memory(), at)});
      else
        f.run(primitives::fill<T>{y, work->x.outer * work->x.inner, nothing()});
    });
  }
  constexpr void backward(auto& g) const {
    auto const dx = make_buffer<T>(g.backend, work->in[0].local_size(g.mesh()));
    bool all = true;
    each_constant<N>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      all = all && (work->place_of(I, g) < 0 || g.template arrived<I>());
    });
    if (!all) g.run(primitives::fill<T>{data_of<T>(dx), work->in[0].local_size(g.mesh()), T(0)});
    each_constant<N>([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if (index const at = work->place_of(I, g); at >= 0 && g.template arrived<I>())
        g.run(primitives::copy<T, T>{work->copied(false), data_of<T>(dx, at), g.template dy<I>()});
    });
    g.set_dx(dx);
  }

 private:
  /// What changes no number that it is added to: of -0.0, 0.0 would.
  static constexpr T nothing() {
    if constexpr (is_floating<T>)
      return static_cast<T>(-compute_t<T>(0));
    else
      return T(0);
  }
};

template <class D, std::size_t N>
struct unstack_rule {
  static constexpr bool takes_pads = true;
  static constexpr unstack_work<N> derive(mesh_shape const& mesh, sharding const& x) {
    unstack_work<N> w;
    w.in = {x};
    w.dim = x.find(D::id);
    w.x = rows_along(x, w.dim, mesh);
    for (int d = 0; d < x.ndim; ++d)
      if (d != w.dim) w.out.push(x[d]);
    w.out.partial = x.partial | x[w.dim].split.mask();
    for (auto& one : w.further) one = w.out;
    w.gradient_may_be_partial = ~x[w.dim].split.mask();
    return w;
  }
};

/// As many positions as the type of a dimension has; 1 where it says nothing.
template <class D>
constexpr std::size_t positions_of() {
  if constexpr (has_extent<D>)
    return static_cast<std::size_t>(D::extent);
  else
    return 1;
}

template <class D>
struct unstack_call {
  static constexpr std::size_t many = positions_of<D>();
  template <class X>
  static auto verdict() -> first_failed_t<named_dims_t<typename X::shape_type, D>,
                                          std::conditional_t<has_extent<D>, ok, error_extent_is_a_value<D>>>;
  template <class One, std::size_t... I>
  static auto repeated(std::index_sequence<I...>) -> list<std::enable_if_t<(I < many), One>...>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using rule = unstack_rule<D, many>;
    using one = description_of<T, rule, typename X::description>;
    return run_as<decltype(repeated<one>(std::make_index_sequence<many>{})), rule>(unstack_operation<T, many>{}, x);
  }
};

}  // namespace detail

/// Tensors of the same dimensions as one: D is its first dimension, as long as they are many, split as the layout says.
/// The others' dimensions may be in any order. Nothing is sent: a rank takes those that are at its positions of D. The
/// gradients are partial over D's axes. A result of partial tensors stays partial where D is not split. Refused: a D of
/// another extent, or there already; other dimensions or elements.
template <dimension D, operand X, operand... More>
constexpr auto stacked(X const& x, More const&... more) {
  return detail::operate(detail::stack_call<D>{}, x, more...);
}

/// The positions of D as tensors without it, `auto const [q, k, v] = mtf::unstacked<three>(x)`: a tuple of as many as
/// D's type says. If D is split nothing is sent: each rank has what it owns, and the results are partial over D's axes.
/// Refused: no such dimension; an extent that is a value.
template <dimension D, operand X>
constexpr auto unstacked(X const& x) {
  return detail::operate_for<detail::unstack_call<D>::many>(detail::unstack_call<D>{}, x);
}

}  // namespace mtf
