#pragma once
// Contractions by name.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/contraction.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/einsum_rule.hpp>
#include <mtf/detail/sharding/operand_rule.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf {

/// The output of einsum names a dimension that no input has.
template <class Dim, class... Shapes>
struct error_output_dim_in_no_input : detail::failed {};

namespace detail {

template <class D, class... S, class... By>
struct require<error_output_dim_in_no_input<D, S...>, By...> {
  static_assert(never<D, S...>, MTF_SENTENCE("mtf: the output of einsum names a dimension that no input has", D, S...));
};

struct einsum_work : operation_work<2> {
  local_einsum forward;
  std::array<local_einsum, 2> backward{};  // the gradient of a: out, b -> a; of b: a, out -> b
};

constexpr einsum_work make_einsum_work(mesh_shape const& mesh, sharding const& a, sharding const& b,
                                       einsum_rule const& rule) {
  einsum_work w;
  w.in = {a, b};
  w.out = rule.out;
  w.complete = rule.complete;
  w.forward = derive_local_einsum(mesh, a, b, rule.out);
  w.backward[0] = derive_local_einsum(mesh, rule.out, b, a);
  w.backward[1] = derive_local_einsum(mesh, a, rule.out, b);
  std::array<axis_mask, 2> const passing{a.partial & ~rule.complete[0], b.partial & ~rule.complete[1]};
  w.gradient_may_be_partial = ~(a.split_axes() | b.split_axes() | passing[0] | passing[1]);
  for (std::size_t i = 0; i < 2; ++i) w.gradient_sums[i] = passing[1 - i] | axes_of_others(w.in[i], w.in[1 - i]);
  return w;
}

/// The contraction of two shards. With `sum`, for which e must not copy the result, it is added to that memory. `bias`,
/// for which adds_bias (linear.hpp) must hold, is added to each row.
template <class T, class Backend>
constexpr buffer<Backend> run_local(local_einsum const& e, buffer<Backend> const& a_from, buffer<Backend> const& b_from,
                                    buffer<Backend> const& sum = {}, buffer<Backend> const& bias = {}) {
  auto a = a_from, b = b_from;
  Backend& k = *a->backend;
  auto const copied = [&](buffer<Backend> const& x, loops<2> const& order, index size) {
    if constexpr (!Backend::holds_data) k.reorders();
    auto to = make_buffer<T>(k, size);
    k.run(primitives::copy<T, T>{order, data_of<T>(to), data_of<T>(x)});
    return to;
  };
  if (e.copy_a) a = copied(a, e.order_a, e.size_a);
  if (e.copy_b) b = copied(b, e.order_b, e.size_b);
  auto c = sum;
  if (!c) c = make_buffer<T>(k, e.size_c);
  auto const& first = e.swapped ? b : a;
  auto const& second = e.swapped ? a : b;
  k.run(primitives::contract<T>{e.work, data_of<T>(first), data_of<T>(second), data_of<T>(c), static_cast<bool>(sum),
                                bias ? data_of<T>(bias) : nullptr});
  if (e.copy_c) return copied(c, e.order_c, e.size_c);
  return c;
}

/// Keeps each factor if the gradient of the other one is wanted, which alone needs it.
constexpr void keep_factors(auto& f) {
  if (std::get<1>(f.in).slot) f.kept[0] = f.memory();
  if (std::get<0>(f.in).slot) f.kept[1] = f.template memory<1>();
}
/// The gradient of factor I, the contraction `e` of a and b.
template <std::size_t I, class T>
constexpr void factor_gradient(auto& g, local_einsum const& e, auto const& a, auto const& b) {
  if (!g.template wants<I>()) return;
  std::remove_cvref_t<decltype(a)> sum;
  if (!e.copy_c) sum = g.template accumulator<I>();
  g.template set_dx<I>(run_local<T>(e, a, b, sum));
  g.template deliver<I>();
}
template <class T>
constexpr void factor_gradients(auto& g, einsum_work const& w) {
  factor_gradient<0, T>(g, w.backward[0], g.g.memory, g.kept[1]);
  factor_gradient<1, T>(g, w.backward[1], g.kept[0], g.g.memory);
}

template <class T>
struct einsum_operation {
  einsum_work const* work;
  char const* called;  // einsum, or what it is a part of
  static constexpr std::size_t kept = 2;
  [[nodiscard]] constexpr char const* name() const { return called; }

  constexpr void forward(auto& f) const {
    f.out = run_local<T>(work->forward, f.memory(), f.template memory<1>());
    keep_factors(f);
  }
  constexpr void backward(auto& g) const { factor_gradients<T>(g, *work); }
};

/// Which two operands to contract first, so that the whole takes the fewest multiplications: all orders are tried.
template <std::size_t N>
struct contraction_order {
  double cost = 0;
  std::size_t first = 0, second = 1;
};

constexpr sharding contracted(sharding const& a, sharding const& b, auto const& needed) {
  sharding out;
  for (int d = 0; d < a.ndim; ++d)
    if (needed(a[d].id)) out.push(a[d]);
  for (int d = 0; d < b.ndim; ++d)
    if (!a.has(b[d].id) && needed(b[d].id)) out.push(b[d]);
  return out;
}

template <std::size_t N>
constexpr contraction_order<N> best_order(mesh_shape const& mesh, std::array<sharding, N> const& in,
                                          sharding const& out) {
  contraction_order<N> best{.cost = std::numeric_limits<double>::max()};
  for (std::size_t i = 0; i < N; ++i)
    for (std::size_t j = i + 1; j < N; ++j) {
      auto const needed = [&](std::uint64_t id) {
        bool n = out.has(id);
        for (std::size_t k = 0; k < N; ++k) n = n || (k != i && k != j && in[k].has(id));
        return n;
      };
      double cost = 1;
      for (int d = 0; d < in[i].ndim; ++d) cost *= static_cast<double>(in[i].local_extent(d, mesh));
      for (int d = 0; d < in[j].ndim; ++d)
        if (!in[i].has(in[j][d].id)) cost *= static_cast<double>(in[j].local_extent(d, mesh));
      if constexpr (N > 2) {
        std::array<sharding, N - 1> rest{contracted(in[i], in[j], needed)};
        std::size_t n = 1;
        for (std::size_t k = 0; k < N; ++k)
          if (k != i && k != j) rest[n++] = in[k];
        cost += best_order<N - 1>(mesh, rest, out).cost;
      }
      if (cost < best.cost) best = {cost, i, j};
    }
  return best;
}

/// The sharding of the output's dimensions, taken from the inputs that have them; it ends before the first that none
/// has.
template <class Out>
constexpr sharding output_of(auto const&... in) {
  sharding out;
  for (int d = 0; d < Out::ndim; ++d) {
    auto const id = Out::ids[static_cast<std::size_t>(d)];
    bool found = false;
    ((in.has(id) && !found ? (out.push(in[in.find(id)]), found = true) : false), ...);
    if (!found) return out;
  }
  return out;
}

template <class... D>
constexpr std::array<std::int64_t, sizeof...(D) + 1> extents_of(shape<D...> const*) {
  return {extents_in_types::of<D>()..., 0};
}
template <class Out, class... X>
struct einsum_output {
  static constexpr sharding out = output_of<Out>(X::spec...);
  // The first dimension whose extent is not the input's.
  static constexpr int resized() {
    for (int d = 0; d < out.ndim; ++d)
      if (out[d].logical() != extents_of(static_cast<Out const*>(nullptr))[static_cast<std::size_t>(d)]) return d;
    return out.ndim;
  }
  static auto verdict() {
    if constexpr (out.ndim < Out::ndim) {
      return error_output_dim_in_no_input<typename Out::template at<static_cast<std::size_t>(out.ndim)>,
                                          typename X::shape_type...>{};
    } else if constexpr (constexpr int d = resized(); d < out.ndim) {
      using dims = dims_of<X...>;
      return error_one_name_two_extents<
          typename dims::template at<position_of(static_cast<dims const*>(nullptr), out[d].id)>,
          typename Out::template at<static_cast<std::size_t>(d)>>{};
    } else {
      return ok{};
    }
  }
};

template <class X, class Y, class Out>
struct einsum_pair {
  static constexpr bool takes_pads = true;
  static constexpr sharding out = derive_einsum(X::spec, Y::spec, output_of<Out>(X::spec, Y::spec)).out;
  static constexpr einsum_work derive(mesh_shape const& mesh, sharding const& x, sharding const& y) {
    return make_einsum_work(mesh, x, y, derive_einsum(x, y, output_of<Out>(x, y)));
  }
  static constexpr bool contracts() {
    for (int d = 0; d < X::spec.ndim; ++d)
      if (Y::spec.has(X::spec[d].id) && !out.has(X::spec[d].id)) return true;
    return false;
  }
};

/// A product without a contracted dimension is elementwise. An outer product is allowed: the output names its
/// dimensions.
template <class X, class Y, class Out>
struct product_rule {
  static constexpr bool takes_pads = true;
  static constexpr operand_rule<2> merge(sharding const& x, sharding const& y) {
    auto m = merge_operands<2>({x, y}, linearity::multiplicative);
    auto const pass = m.together.partial;
    m.together = output_of<Out>(x, y);
    m.together.partial = pass;
    return m;
  }
  static constexpr sharding out = merge(X::spec, Y::spec).together;
  static constexpr map_work<2> derive(mesh_shape const& mesh, sharding const& x, sharding const& y) {
    return derive_map<2>(mesh, merge(x, y), {x, y});
  }
};

/// The dimensions of X that Keep names.
template <class X, class Keep>
struct kept_rule {
  static constexpr bool takes_pads = true;
  static constexpr reduce_work derive(mesh_shape const& mesh, sharding const& x) {
    sharding s;
    for (int d = 0; d < x.ndim; ++d)
      if (Keep::has_id(x[d].id)) s.push(x[d]);
    return derive_reduce(mesh, x, s, reduce_by::sum);
  }
  static constexpr sharding out = derive(X::mesh, X::spec).out;
};

/// x summed over the dimensions that Keep lacks: those that neither the output nor another operand has.
template <class Keep, class X>
constexpr auto summed_to(X const& x) {
  using rule = kept_rule<typename X::description, Keep>;
  if constexpr (rule::out.ndim == X::shape_type::ndim) {
    return x;
  } else {
    using T = typename X::element_type;
    return run_as<description_by<T, rule, typename X::description>, rule>(sum_operation<T>{}, x);
  }
}

// `called`: what plans call the products, einsum or what it is a part of.
template <class Out, class X>
constexpr auto einsum_all(char const* called, X const& x);
template <class Out, class X, class Y>
constexpr auto einsum_all(char const* called, X const& x, Y const& y);
template <class Out, class X, class Y, class Z, class... Rest>
constexpr auto einsum_all(char const* called, X const& x, Y const& y, Z const& z, Rest const&... rest);

template <class Out, class X>
constexpr auto einsum_all(char const*, X const& x) {
  return transposed(static_cast<Out const*>(nullptr), summed_to<any_of_shapes<Out>>(x));
}

template <class Out, class X, class Y>
constexpr auto einsum_all(char const* called, X const& full_x, Y const& full_y) {
  auto const x = summed_to<any_of_shapes<Out, typename Y::shape_type>>(full_x);
  auto const y = summed_to<any_of_shapes<Out, typename X::shape_type>>(full_y);
  using A = typename std::remove_cvref_t<decltype(x)>::description;
  using B = typename std::remove_cvref_t<decltype(y)>::description;
  using T = typename X::element_type;
  using pair = einsum_pair<A, B, Out>;
  if constexpr (pair::contracts()) {
    return run_as<description_by<T, pair, A, B>, pair>(einsum_operation<T>{nullptr, called}, x, y);
  } else {
    using rule = product_rule<A, B, Out>;
    return run_as<description_by<T, rule, A, B>, rule>(map_operation<functions::multiply, T, T, T>{{}, nullptr, called},
                                                       x, y);
  }
}

/// The dimensions of an intermediate: those of two operands that the output or another operand needs.
template <class X, class Y, class Needed>
struct intermediate {
  static constexpr sharding out = contracted(X::spec, Y::spec, [](std::uint64_t id) { return Needed::has_id(id); });
};

/// Operands I and J, which are contracted first, and the others.
template <std::size_t I, std::size_t J, class Out, class... X>
struct first_contraction {
  static constexpr std::size_t count = sizeof...(X);
  static constexpr std::size_t other(std::size_t i) {
    for (std::size_t k = 0, at = 0; k < count; ++k)
      if (k != I && k != J && at++ == i) return k;
    return count;
  }
  using a = nth<I, X...>;
  using b = nth<J, X...>;
  template <std::size_t... K>
  static auto needed(std::index_sequence<K...>) -> any_of_shapes<Out, typename nth<other(K), X...>::shape_type...>;
  using middle =
      shape_of_rule<dims_of<a, b>, intermediate<a, b, decltype(needed(std::make_index_sequence<count - 2>{}))>>;
};

template <std::size_t I, std::size_t J, class Out, class... X>
constexpr auto einsum_from(char const* called, X const&... x) {
  using first = first_contraction<I, J, Out, typename X::description...>;
  auto const all = std::tie(x...);
  return [&]<std::size_t... Other>(std::index_sequence<Other...>) {
    return einsum_all<Out>(called, einsum_all<typename first::middle>(called, std::get<I>(all), std::get<J>(all)),
                           std::get<first::other(Other)>(all)...);
  }(std::make_index_sequence<sizeof...(X) - 2>{});
}

/// By the pair that is best, where that is known when the program runs: the last that is left is taken unasked. The
/// result has the type Result whatever the pair.
template <std::size_t I, std::size_t J, class Out, class Result, class... X>
constexpr Result einsum_from_best(std::size_t first, std::size_t second, char const* called, X const&... x) {
  constexpr bool last_j = J + 1 == sizeof...(X), last = I + 2 == sizeof...(X);
  if constexpr (!last)
    if (first != I || second != J)
      return einsum_from_best<last_j ? I + 1 : I, last_j ? I + 2 : J + 1, Out, Result>(first, second, called, x...);
  auto const out = einsum_from<I, J, Out>(called, x...);
  return Result(out.value(), out.where());
}

template <class Out, class X, class Y, class Z, class... Rest>
constexpr auto einsum_all(char const* called, X const& x, Y const& y, Z const& z, Rest const&... rest) {
  constexpr std::size_t count = 3 + sizeof...(Rest);
  if constexpr (by_value<X>) {
    auto const& mesh = x.where().layout->mesh.shape;
    std::array<sharding, count> const in{x.where().spec, y.where().spec, z.where().spec, rest.where().spec...};
    auto const order =
        std::apply([&](auto const&... s) { return best_order<count>(mesh, in, output_of<Out>(s...)); }, in);
    using result = tensor<typename X::element_type, Out, typename X::layout_type, partial<>, typename X::backend_type>;
    return einsum_from_best<0, 1, Out, result>(order.first, order.second, called, x, y, z, rest...);
  } else {
    constexpr auto order = best_order<count>(X::mesh, {X::spec, Y::spec, Z::spec, Rest::spec...},
                                             output_of<Out>(X::spec, Y::spec, Z::spec, Rest::spec...));
    return einsum_from<order.first, order.second, Out>(called, x, y, z, rest...);
  }
}

template <class... D>
struct einsum_call {
  using out = shape<D...>;
  static constexpr char const* name = "einsum";
  char const* called = name;

  template <class... X>
  static auto verdict() {
    using types = first_failed_t<shape_verdict_t<D...>, same_element_t<X...>>;
    if constexpr (!types::value)
      return types{};
    else
      return einsum_output<out, X...>::verdict();
  }
  template <class... X>
  constexpr auto operator()(X const&... x) const {
    return einsum_all<out>(called, x...);
  }
};

}  // namespace detail

/// The sum over all dimensions that the output does not name of the product of the operands, in Einstein's convention:
/// `einsum<batch, hidden>(x, w)`. Nothing is sent: a contracted dimension that is split leaves the result partial over
/// its axes. An operand that is partial stays so if no other operand is partial or split over those axes, else it is
/// reduced first. More than two operands are contracted pairwise in the order with the fewest multiplications. The
/// output's order is the storage order. Backward: one contraction for each operand, likewise. Refused: an output
/// dimension that no input has, operands split differently, one name with two extents, two dimensions of the operands
/// on one axis, different element types.
template <dimension... Out, operand... X>
  requires(sizeof...(X) > 0)
constexpr auto einsum(X const&... x) {
  return detail::operate(detail::einsum_call<Out...>{}, x...);
}

}  // namespace mtf
