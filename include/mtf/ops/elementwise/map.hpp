#pragma once
// Elementwise operations with broadcasting by name.
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/sharding/operand_rule.hpp>
#include <mtf/math/dual.hpp>

namespace mtf {

namespace detail {

template <class F>
constexpr linearity linearity_of() {
  if constexpr (requires { F::linear; })
    return F::linear;
  else
    return linearity::none;
}
template <class F>
constexpr bool passes_gradient(std::size_t i) {
  if constexpr (requires { F::derivative_is_one; })
    return F::derivative_is_one[i];
  else
    return false;
}
template <class F>
constexpr bool saves_inputs() {
  if constexpr (requires { F::saves_inputs; })
    return F::saves_inputs;
  else
    return true;
}

template <class F>
constexpr bool only_floating() {
  if constexpr (requires { F::only_floating; })
    return F::only_floating;
  else
    return false;
}

template <class F>
constexpr char const* name_of_function() {
  if constexpr (requires { requires std::is_same_v<decltype(F::name), char const* const>; })
    return F::name;
  else
    return "map";
}

/// What one rank does for an elementwise operation, forward and backward.
template <std::size_t N>
struct map_work : operation_work<N> {
  loops<static_cast<int>(1 + N)> loop;
  index size = 0;
  std::array<bool, N> same_order{}, broadcast{};
  std::array<bool, N> is_row{};  // one dense row, repeated for all others: its gradient is summed where it is computed
};

template <std::size_t N>
constexpr operand_rule<N> merge_for_map(std::array<sharding, N> const& in, linearity linear) {
  auto r = merge_operands(in, linear);
  if (r.wrong.what != finding::kind::none) return r;
  for (std::size_t i = 0; i < N; ++i) {
    int other = -1;
    bool shares = in[i].ndim == 0;
    for (std::size_t j = 0; j < N; ++j) {
      if (i == j || in[j].ndim == 0) continue;
      other = static_cast<int>(j);
      for (int d = 0; d < in[i].ndim; ++d) shares = shares || in[j].has(in[i][d].id);
    }
    if (!shares && other >= 0) {
      r.wrong = {.what = finding::kind::outer_product, .i = static_cast<int>(i), .j = other};
      return r;
    }
  }
  // The result takes the order of the operand that has all dimensions, if there is one.
  for (auto const& s : in)
    if (s.ndim == r.together.ndim) {
      auto const pass = r.together.partial;
      r.together = s;
      r.together.partial = pass;
      break;
    }
  return r;
}

template <std::size_t N>
constexpr map_work<N> derive_map(mesh_shape const& mesh, operand_rule<N> const& merged,
                                 std::array<sharding, N> const& in) {
  map_work<N> w;
  w.in = in;
  w.out = merged.together;
  w.complete = merged.complete;
  w.loop = aligned<static_cast<int>(N)>(mesh, w.out, in);
  w.size = w.out.local_size(mesh);
  std::array<axis_mask, N> passing{};
  axis_mask all_passing = 0;
  for (std::size_t i = 0; i < N; ++i) all_passing |= passing[i] = in[i].partial & ~merged.complete[i];
  w.gradient_may_be_partial = ~all_passing;
  for (std::size_t i = 0; i < N; ++i) {
    w.gradient_sums[i] = axes_of_others(in[i], w.out);
    for (std::size_t j = 0; j < N; ++j)
      if (j != i) w.gradient_sums[i] |= passing[j];
    w.same_order[i] = in[i].ndim == w.out.ndim;
    for (int d = 0; d < w.out.ndim; ++d) {
      w.broadcast[i] = w.broadcast[i] || !in[i].has(w.out[d].id);
      w.same_order[i] = w.same_order[i] && in[i][d].id == w.out[d].id;
    }
    auto const row = static_cast<std::size_t>(w.loop.ndim - 1);
    w.is_row[i] = row > 0 && w.loop.extent[row] == in[i].local_size(mesh) && w.loop.stride[1 + i][row] == 1;
    for (std::size_t d = 0; d < row; ++d) w.is_row[i] = w.is_row[i] && w.loop.stride[1 + i][d] == 0;
  }
  return w;
}

/// If the derivatives are constants, gradients are not multiplied by operands, so they may stay partial over all axes.
template <std::size_t N>
constexpr map_work<N> without_products(map_work<N> w) {
  w.gradient_may_be_partial = ~0U;
  for (std::size_t i = 0; i < N; ++i) w.gradient_sums[i] = axes_of_others(w.in[i], w.out);
  return w;
}

/// R f(T...)
template <class F, class R, class... T>
struct map_operation {
  static constexpr std::size_t N = sizeof...(T);
  F f;
  map_work<N> const* work;
  char const* called;
  static constexpr std::size_t kept = saves_inputs<F>() ? N : 0;
  [[nodiscard]] constexpr char const* name() const { return called; }

  constexpr void forward(auto& pass) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      pass.run(primitives::map<F, R, T...>{f, work->loop, pass.y(), {pass.template x<I>()...}});
      if constexpr (kept > 0) pass.kept = {pass.template memory<I>()...};
    }(std::index_sequence_for<T...>{});
  }
  constexpr void backward(auto& g) const { backward(g, std::index_sequence_for<T...>{}); }

 private:
  template <std::size_t... I>
  constexpr void backward(auto& g, std::index_sequence<I...>) const {
    std::array<std::remove_cvref_t<decltype(g.g.memory)>, N> dx;  // of the result's size, or of a row's
    ((dx[I] = wanted<I, T>(g)), ...);
    std::array<map_gradient, N> const to{map_gradient{dx[I] && !passes_gradient<F>(I) ? dx[I]->data : nullptr,
                                                      work->is_row[I], dx[I] && !passes_gradient<F>(I)}...};
    if ((to[I].wanted || ...)) {
      if constexpr (kept > 0)
        g.run(primitives::map_vjp<F, R, T...>{f, work->loop, to, g.dy(), {data_of<T>(g.kept[I])...}});
      else  // the derivatives are constants, so any number may stand for the operands
        g.run(primitives::map_vjp<F, R, T...>{f, work->loop, to, g.dy(), {static_cast<T const*>(g.dy())...}});
    }
    g.kept = {};
    (deliver<I, T>(g, std::move(dx[I])), ...);
  }
  template <std::size_t I, class Ti, class Gradient>
  constexpr auto wanted(Gradient& g) const -> std::remove_cvref_t<decltype(g.g.memory)> {
    if (!g.template wants<I>()) return {};
    if (passes_gradient<F>(I)) return g.g.memory;
    return make_buffer<Ti>(g.backend, work->is_row[I] ? work->in[I].local_size(g.mesh()) : work->size);
  }
  /// Summed to the operand's dimensions, in the operand's order.
  template <std::size_t I, class Ti, class Buffer>
  constexpr void deliver(auto& g, Buffer&& dx) const {
    if (!dx) return;
    bool const summed = work->is_row[I] && !passes_gradient<F>(I);
    if (work->same_order[I] || summed) {
      g.template set_dx<I>(dx);
    } else {
      auto const r = reduction_to(g.mesh(), work->in[I], work->out);
      Ti* const to = g.template dx<I>();
      if (work->broadcast[I])
        g.run(primitives::reduce<Ti>{combine::sum, r, to, data_of<Ti>(dx)});
      else
        g.run(primitives::copy<Ti, Ti>{r.kept, to, data_of<Ti>(dx)});
    }
    dx = {};
    g.template deliver<I>();
  }
};

/// Not constexpr: a plan that asks for such a gradient ends here.
[[noreturn]] inline void map_was_given_a_function_that_takes_no_dual_numbers(std::size_t argument) {
  throw user_error("map: a gradient is wanted through argument " + std::to_string(argument + 1) +
                   " of a function that cannot be called with a dual number there, so it has no derivative: give each "
                   "argument a type of its own, [](auto x, auto y), or pass mtf::stop_gradient(x)");
}

/// Whether anybody wants a gradient is known when the program runs.
template <std::size_t I, class F, class... T>
constexpr void check_derivative(auto const& operand) {
  if constexpr (is_floating<nth<I, T...>> && !passes_gradient<F>(I) && !math::has_derivative<I, F, compute_t<T>...>)
    if (operand.slot) map_was_given_a_function_that_takes_no_dual_numbers(I);
}

/// What follows from the operands' shardings: the same for all functions that are linear in the same operands.
/// `Products`: gradients are multiplied by derivatives that depend on the operands.
template <linearity Linear, bool Products, class... X>
struct map_shardings {
  static constexpr bool takes_pads = true;
  static constexpr std::size_t N = sizeof...(X);
  static constexpr std::array<sharding, N> in{X::spec...};
  static constexpr operand_rule<N> merged = merge_for_map<N>(in, Linear);
  static constexpr sharding out = merged.together;
  static constexpr finding wrong(auto const&... x) { return merge_for_map<N>({x...}, Linear).wrong; }
  static constexpr map_work<N> derive(mesh_shape const& mesh, auto const&... x) {
    auto const w = derive_map<N>(mesh, merge_for_map<N>({x...}, Linear), {x...});
    return Products ? w : without_products(w);
  }
};
template <class F, class... X>
using map_shardings_of =
    map_shardings<linearity_of<F>(), saves_inputs<F>() && linearity_of<F>() != linearity::additive, X...>;

template <class F, class... X>
struct map_rule {
  // What the function returns on the operands' compute types; results as wide as the operands are stored like them.
  using returned =
      std::remove_cvref_t<decltype(std::declval<F>()(std::declval<compute_t<typename X::element_type>>()...))>;
  template <class... T>
  static auto narrow() {
    if constexpr ((std::is_same_v<T, bfloat16> || ...) && std::is_same_v<returned, float>)
      return bfloat16{};
    else
      return returned{};
  }
  using element = decltype(narrow<typename X::element_type...>());
};

/// All operands of a function with constant derivatives have one element type; of other functions, the floating ones.
template <class F, class... X>
auto map_elements_verdict() {
  if constexpr (saves_inputs<F>())
    return same_floating_verdict<X...>();
  else
    return same_element_verdict<X...>();
}
/// In addition the function must take their elements, and return one.
template <class F, class... X>
auto map_function_verdict() {
  using wrong = first_failed_t<std::conditional_t<only_floating<F>(), floating_t<X...>, ok>,
                               decltype(map_elements_verdict<F, X...>())>;
  if constexpr (!wrong::value)
    return wrong{};
  else if constexpr (!callable_t<F, compute_t<typename X::element_type>...>::value)
    return callable_t<F, compute_t<typename X::element_type>...>{};
  else if constexpr (!is_element<typename map_rule<F, X...>::element>)
    return error_element_type<typename map_rule<F, X...>::element>{};
  else
    return ok{};
}
template <class F, class... X>
using map_function_t = decltype(map_function_verdict<F, X...>());

template <class F>
struct map_call {
  F f{};
  char const* called = name_of_function<F>();

  template <class... X>
  static auto verdict() -> map_function_t<F, X...>;
  template <class... X>
  using operands_rule = map_shardings_of<F, X...>;
  template <class... X>
  constexpr auto operator()(X const&... x) const {
    using R = typename map_rule<F, typename X::description...>::element;
    using shardings = map_shardings_of<F, typename X::description...>;
    if constexpr (is_floating<R>)
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (check_derivative<I, F, typename X::element_type...>(x.value()), ...);
      }(std::index_sequence_for<X...>{});
    using out = description_by<R, shardings, typename X::description...>;
    return run_as<out, shardings>(map_operation<F, R, typename X::element_type...>{f, nullptr, called}, x...);
  }
};

}  // namespace detail

/// f applied to every element. Operands are broadcast by name: the result has the union of their dimensions, in the
/// order of the operand that has them all, if one does. f is a function object with a templated call operator, free of
/// state that depends on the rank; its derivative comes from calling it on dual numbers. One that takes none in some
/// argument is mapped all the same; asking for the gradient there is a user_error, and in a plan a compiler error.
/// Where the result's gradient is 0 so are the operands', also where a derivative is infinite or no number: what
/// `where` did not choose gets none. Operands that are partial are reduced first, unless f is linear there
/// (`mtf/ops/elementwise/functions.hpp`). No communication otherwise. Backward: one kernel; the gradient of a broadcast
/// operand is summed over the missing dimensions, partial where they are split. Refused: operands split differently,
/// one name with two extents, tensors that share no dimension, different floating element types, a function that does
/// not take the elements, returns none, or calls one of plain numbers on a dual number.
template <class F, operand... X>
constexpr auto map(F f, X const&... x) {
  return detail::operate(detail::map_call<F>{f}, x...);
}

}  // namespace mtf
