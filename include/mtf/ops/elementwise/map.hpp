#pragma once
// Elementwise operations with broadcasting by name.
#include <array>
#include <cstddef>
#include <string>
#include <tuple>
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

/// What one rank does for an elementwise operation, forward and backward.
template <std::size_t N>
struct map_work {
  sharding out;
  std::array<sharding, N> in{};
  std::array<axis_mask, N> complete{};  // sums to take before
  loops<static_cast<int>(1 + N)> work;
  index size = 0;
  axis_mask gradient_may_pass = 0;           // axes over which the incoming gradient may be partial
  std::array<axis_mask, N> gradient_sums{};  // axes over which each operand's gradient becomes partial
  std::array<bool, N> same_order{}, broadcast{};
  std::array<bool, N> is_row{};  // one dense row, repeated for all others: its gradient is summed where it is computed
};

template <std::size_t N>
constexpr operand_rule<N> merge_for_map(std::array<sharding, N> const& in, linearity linear) {
  auto r = merge_operands(in, linear);
  if (r.wrong.what != finding::kind::none) return r;
  for (std::size_t i = 0; i < N; ++i) {
    int other = -1;
    bool shares = in[i].rank == 0;
    for (std::size_t j = 0; j < N; ++j) {
      if (i == j || in[j].rank == 0) continue;
      other = static_cast<int>(j);
      for (int d = 0; d < in[i].rank; ++d) shares = shares || in[j].has(in[i][d].id);
    }
    if (!shares && other >= 0) {
      r.wrong = {.what = finding::kind::outer_product, .i = static_cast<int>(i), .j = other};
      return r;
    }
  }
  // The result takes the order of the operand that has all dimensions, if there is one.
  for (auto const& s : in)
    if (s.rank == r.together.rank) {
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
  w.out = merged.together;
  w.in = in;
  w.complete = merged.complete;
  w.work = aligned<static_cast<int>(N)>(mesh, w.out, in);
  w.size = w.out.local_size(mesh);
  std::array<axis_mask, N> passing{};
  axis_mask all_passing = 0;
  for (std::size_t i = 0; i < N; ++i) all_passing |= passing[i] = in[i].partial & ~merged.complete[i];
  w.gradient_may_pass = ~all_passing;
  for (std::size_t i = 0; i < N; ++i) {
    for (std::size_t j = 0; j < N; ++j)
      if (j != i) w.gradient_sums[i] |= passing[j];
    w.same_order[i] = in[i].rank == w.out.rank;
    for (int d = 0; d < w.out.rank; ++d) {
      if (!in[i].has(w.out[d].id)) {
        w.broadcast[i] = true;
        w.gradient_sums[i] |= w.out[d].cut.mask();
      }
      w.same_order[i] = w.same_order[i] && in[i][d].id == w.out[d].id;
    }
    auto const row = static_cast<std::size_t>(w.work.rank - 1);
    w.is_row[i] = row > 0 && w.work.extent[row] == in[i].local_size(mesh) && w.work.stride[1 + i][row] == 1;
    for (std::size_t d = 0; d < row; ++d) w.is_row[i] = w.is_row[i] && w.work.stride[1 + i][d] == 0;
  }
  return w;
}

/// Where the derivatives are constants, gradients do not meet the operands: they pass on partial as they come.
template <std::size_t N>
constexpr map_work<N> without_products(map_work<N> w) {
  w.gradient_may_pass = ~0U;
  for (std::size_t i = 0; i < N; ++i) {
    w.gradient_sums[i] = 0;
    for (int d = 0; d < w.out.rank; ++d)
      if (!w.in[i].has(w.out[d].id)) w.gradient_sums[i] |= w.out[d].cut.mask();
  }
  return w;
}

template <class Backend, class F, class R, class... T>
class map_node {
 public:
  static constexpr std::size_t N = sizeof...(T);
  constexpr map_node(F f, map_work<N> const& w, ref<gradient_slot<Backend, R>> const& out,
                     value<Backend, T> const&... in)
      : f_(f), w_(&w), out_(out), slots_(in.slot...) {
    if constexpr (saves_inputs<F>()) in_ = {in.memory...};
  }
  constexpr void run() { run(std::index_sequence_for<T...>{}); }

 private:
  template <std::size_t... I>
  constexpr void run(std::index_sequence<I...>) {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "map", w_->out);
    auto g = out_->take(w_->gradient_may_pass);
    if (!g.memory) return;
    std::array<buffer<Backend>, N> dx;
    ((dx[I] = wanted<I, T>(b, g.memory)), ...);
    std::array<map_gradient, N> const to{map_gradient{dx[I] && !passes_gradient<F>(I) ? dx[I]->data : nullptr,
                                                      w_->is_row[I], dx[I] && !passes_gradient<F>(I)}...};
    if ((to[I].wanted || ...)) {
      if constexpr (saves_inputs<F>())
        b.run(primitives::map_vjp<F, R, T...>{f_, w_->work, to, data_of<R>(g.memory), {data_of<T>(in_[I])...}});
      else  // the derivatives are constants, so any number may stand for the operands
        b.run(primitives::map_vjp<F, R, T...>{
            f_, w_->work, to, data_of<R>(g.memory), {static_cast<T const*>(data_of<R>(g.memory))...}});
    }
    in_ = {};
    (deliver<I, T>(b, std::move(dx[I]), g.partial), ...);
  }
  template <std::size_t I, class Ti>
  constexpr buffer<Backend> wanted(Backend& b, buffer<Backend> const& g) const {
    if (!std::get<I>(slots_)) return {};
    if (passes_gradient<F>(I)) return g;
    return make_buffer<Ti>(b, w_->is_row[I] ? w_->in[I].local_size(b.ranks().mesh()) : w_->size);
  }
  template <std::size_t I, class Ti>
  constexpr void deliver(Backend& b, buffer<Backend>&& dx, axis_mask partial) {
    if (!dx) return;
    auto const& mesh = b.ranks().mesh();
    bool const summed = w_->is_row[I] && !passes_gradient<F>(I);
    if (!w_->same_order[I] && !summed) {
      auto small = make_buffer<Ti>(b, w_->in[I].local_size(mesh));
      auto const r = reduction_to(mesh, w_->in[I], w_->out);
      if (w_->broadcast[I])
        b.run(primitives::reduce<Ti>{combine::sum, r, data_of<Ti>(small), data_of<Ti>(dx)});
      else
        b.run(primitives::copy<Ti, Ti>{r.kept, data_of<Ti>(small), data_of<Ti>(dx)});
      dx = std::move(small);
    }
    std::get<I>(slots_)->add({std::move(dx), partial | w_->gradient_sums[I]});
  }

  F f_;
  map_work<N> const* w_;
  ref<gradient_slot<Backend, R>> out_;
  std::tuple<ref<gradient_slot<Backend, T>>...> slots_;
  std::array<buffer<Backend>, N> in_;
};

/// Not constexpr: a plan that asks for such a gradient ends here.
[[noreturn]] inline void map_was_given_a_function_that_takes_no_dual_numbers(std::size_t argument) {
  throw user_error("map: a gradient is wanted through argument " + std::to_string(argument + 1) +
                   " of a function that cannot be called with a dual number there, so it has no derivative: give each "
                   "argument a type of its own, [](auto x, auto y), or pass mtf::stop_gradient(x)");
}

/// Whether anybody wants a gradient is known when the program runs.
template <std::size_t I, class F, class Backend, class... T>
constexpr void check_derivative(value<Backend, nth<I, T...>> const& operand) {
  if constexpr (is_floating<nth<I, T...>> && !passes_gradient<F>(I) && !math::has_derivative<I, F, compute_t<T>...>)
    if (operand.slot) map_was_given_a_function_that_takes_no_dual_numbers(I);
}

template <class R, class F, class Backend, class... T, std::size_t... I>
constexpr value<Backend, R> run_map(F f, map_work<sizeof...(T)> const& w, std::index_sequence<I...>,
                                    value<Backend, T> const&... operands) {
  Backend& b = std::get<0>(std::tie(operands...)).backend();
  operation<Backend> const here(b, "map", w.out);
  std::tuple const in{completed_value(operands, w.in[I], w.complete[I])...};
  auto out = make_value<R>(b, w.size);
  b.run(primitives::map<F, R, T...>{f, w.work, out.data(), {std::get<I>(in).data()...}});
  if constexpr (is_floating<R>) {
    (check_derivative<I, F, Backend, T...>(operands), ...);
    record(tape_of(operands...), out, w.out,
           [&](auto const& slot) { return map_node<Backend, F, R, T...>(f, w, slot, std::get<I>(in)...); });
  }
  return out;
}

template <class F, class... X>
struct map_rule {
  static constexpr std::size_t N = sizeof...(X);
  static constexpr std::array<sharding, N> in{X::spec...};
  static constexpr operand_rule<N> merged = merge_for_map<N>(in, linearity_of<F>());
  static constexpr sharding out = merged.together;
  static constexpr mesh_shape mesh = first_t<X...>::mesh;
  static constexpr map_work<N> work() {
    auto const w = derive_map<N>(mesh, merged, in);
    return linearity_of<F>() == linearity::additive || !saves_inputs<F>() ? without_products(w) : w;
  }
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

/// Operands of a function with constant derivatives have one element type; of others the floating ones have.
template <class F, class... X>
auto map_elements_verdict() {
  if constexpr (saves_inputs<F>())
    return same_floating_verdict<X...>();
  else
    return same_element_verdict<X...>();
}
/// And the function takes their elements, and returns one.
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

template <class Rule>
inline constexpr auto map_work_of = Rule::work();

}  // namespace detail

/// f applied to every element. Operands are broadcast by name: the result has the union of their dimensions, in the
/// order of the operand that has them all, if one does. f is a function object with a templated call operator, free of
/// state that depends on the rank; its derivative comes from calling it on dual numbers. One that takes none in some
/// argument is mapped all the same; asking for the gradient there is a user_error, and in a plan a compiler error.
/// Operands that are partial are completed first, unless f is linear there (`mtf/ops/elementwise/functions.hpp`). No
/// communication otherwise. Backward: one kernel; the gradient of a broadcast operand is summed over the missing
/// dimensions, partial where they are cut. Refused: operands cut differently, one name with two extents, tensors that
/// share no dimension, different floating element types, a function that does not take the elements, returns none, or
/// calls one of plain numbers on a dual number.
template <class F, operand... X>
constexpr auto map(F f, X const&... x) {
  if constexpr (detail::any_refused<X...>) {
    return refused{};
  } else {
    using verdict1 =
        detail::first_failed_t<detail::same_mesh_t<X...>, detail::map_function_t<F, typename X::description...>>;
    if constexpr (!verdict1::value) {
      detail::require<verdict1>{};
      return refused{};
    } else {
      using rule = detail::map_rule<F, typename X::description...>;
      using verdict = detail::operands_verdict_t<rule, X...>;
      if constexpr (!verdict::value) {
        detail::require<verdict>{};
        return refused{};
      } else {
        using out = detail::result_t<typename rule::element, rule, X...>;
        return out(detail::run_map<typename rule::element>(f, detail::map_work_of<rule>,
                                                           std::index_sequence_for<X...>{}, x.value()...));
      }
    }
  }
}

}  // namespace mtf
