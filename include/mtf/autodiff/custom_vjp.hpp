#pragma once
// A function of tensors with a backward pass of the user's.
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/autodiff/gradient.hpp>
#include <mtf/autodiff/recompute.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/autodiff/vjp_node.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/refused.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/placeholder.hpp>
#include <mtf/detail/tensor/structure_slots.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/tensor/stack.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// The backward of a custom_vjp captures something.
template <class Function>
struct error_backward_captures : detail::failed {};
/// The forward of a custom_vjp returns neither a tensor nor a structure of tensors.
template <class Result>
struct error_forward_is_not_tensor : detail::failed {};
/// A tensor in the structure that the forward of a custom_vjp returns is partial.
template <class Result>
struct error_forward_is_partial : detail::failed {};
/// The backward of a custom_vjp returns more or fewer cotangents than there are operands with a gradient.
template <class Returned, std::size_t Wanted>
struct error_cotangents_not_as_many : detail::failed {};
/// A cotangent that the backward of a custom_vjp returns is not like the operand whose it is.
template <class Cotangent, class Operand>
struct error_cotangent_differs : detail::failed {};

namespace detail {

template <class F, class... By>
struct require<error_backward_captures<F>, By...> {
  static_assert(never<F>, MTF_SENTENCE("mtf: custom_vjp calls its backward when what it captured may be gone: it must "
                                       "capture nothing; let forward return what it needs, beside its result",
                                       F));
};
template <class R, class... By>
struct require<error_forward_is_not_tensor<R>, By...> {
  static_assert(never<R>,
                MTF_SENTENCE("mtf: the forward of a custom_vjp returns a tensor, or several as a structure with "
                             "MTF_FIELDS; or a std::pair of that and of what backward needs",
                             R));
};
template <class R, class... By>
struct require<error_forward_is_partial<R>, By...> {
  static_assert(never<R>, MTF_SENTENCE("mtf: a tensor in the structure that the forward of a custom_vjp returns is "
                                       "partial: reduce it, by mtf::complete",
                                       R));
};
template <class R, std::size_t N, class... By>
struct require<error_cotangents_not_as_many<R, N>, By...> {
  static_assert(never<R>,
                MTF_SENTENCE("mtf: the backward of a custom_vjp returns a cotangent for each operand of floating "
                             "elements, in their order: of one its cotangent, of several a std::tuple; "
                             "error_cotangents_not_as_many<returned, wanted>",
                             R));
};
template <class C, class X, class... By>
struct require<error_cotangent_differs<C, X>, By...> {
  static_assert(never<C, X>,
                MTF_SENTENCE("mtf: a cotangent has the dimensions and the elements of its operand, and of a structure "
                             "its type; error_cotangent_differs<cotangent, operand>",
                             C, X));
};

/// Is a tensor of a structure partial, as its type says?
template <class X>
struct holds_partial : std::false_type {};
template <tensor_type X>
struct holds_partial<X> : std::bool_constant<!std::is_same_v<typename X::partial_type, partial<>>> {};
template <class T, std::size_t N>
struct holds_partial<std::array<T, N>> : holds_partial<T> {};
template <class Count, class T>
struct holds_partial<stack<Count, T>> : holds_partial<T> {};
template <fields S>
struct holds_partial<S> {
  template <class... Field>
  static std::bool_constant<(holds_partial<Field>::value || ...)> any(list<Field...>);
  static constexpr bool value = decltype(any(field_types<S>{}))::value;
};

template <class Y>
auto forward_verdict() {
  if constexpr (tensor_type<Y> || std::is_same_v<Y, refused>)
    return ok{};
  else if constexpr (!fields<Y> || std::is_void_v<backend_in_t<Y>>)
    return error_forward_is_not_tensor<Y>{};
  else
    return std::conditional_t<holds_partial<Y>::value, error_forward_is_partial<Y>, ok>{};
}

/// The cotangent of a result: of a partial tensor the gradient is that of its sum.
template <class Y>
struct cotangent_type {
  using type = Y;
};
template <tensor_type Y>
struct cotangent_type<Y> {
  using type = whole_t<Y>;
};

/// The first dimension that is not split as that of another tensor; below 0: all are.
constexpr int first_split_differently(sharding const& a, sharding const& b) {
  for (int d = 0; d < a.ndim; ++d)
    if (!(a[d].split == b[b.find(a[d].id)].split)) return d;
  return -1;
}
template <class C, class X>
auto cotangent_verdict() {
  using differs = error_cotangent_differs<C, X>;
  if constexpr (!tensor_type<X>) {
    return std::conditional_t<std::is_same_v<C, X>, ok, differs>{};
  } else if constexpr (!tensor_type<C>) {
    return differs{};
  } else if constexpr (!std::is_same_v<typename C::element_type, typename X::element_type> ||
                       !std::is_same_v<typename C::backend_type, typename X::backend_type> ||
                       by_value<C> != by_value<X>) {
    return differs{};
  } else if constexpr (!decltype(dims_verdict<C>(static_cast<typename X::shape_type const*>(nullptr)))::value) {
    return differs{};
  } else if constexpr (by_value<X>) {
    return ok{};
  } else {
    constexpr int d = first_split_differently(X::spec, C::spec);
    if constexpr (d < 0)
      return ok{};
    else
      return error_split_differently<typename X::shape_type::template at<static_cast<std::size_t>(d)>,
                                     typename X::layout_type, typename C::layout_type>{};
  }
}

/// What a backward returns, as a list.
template <class Returned>
struct cotangent_list {
  using type = list<Returned>;
};
template <class... C>
struct cotangent_list<std::tuple<C...>> {
  using type = list<C...>;
};
template <class A, class B>
struct cotangent_list<std::pair<A, B>> {
  using type = list<A, B>;
};
template <class Returned, class... C, class... X>
auto cotangents_verdict(list<C...> const*, list<X...> const*) {
  if constexpr (sizeof...(C) != sizeof...(X))
    return error_cotangents_not_as_many<Returned, sizeof...(X)>{};
  else
    return first_failed_t<decltype(cotangent_verdict<C, X>())...>{};
}

/// The arguments that a backward is called with, as a list.
template <class Residuals, class Y>
using backward_arguments =
    std::conditional_t<std::is_same_v<Residuals, nothing_besides>, list<typename cotangent_type<Y>::type>,
                       list<Residuals, typename cotangent_type<Y>::type>>;
template <class Back, class... A>
auto backward_verdict(list<A...> const*) -> callable_t<Back, A const&...>;
template <class Back, class... A>
auto returned_by(list<A...> const*) -> std::remove_cvref_t<std::invoke_result_t<Back const&, A const&...>>;

/// The verdict on the backward of a function that returns Y and keeps Residuals.
template <class Back, class Residuals, class Y, class Operands>
auto vjp_verdict() {
  using arguments = backward_arguments<Residuals, Y>;
  using callable = decltype(backward_verdict<Back>(static_cast<arguments const*>(nullptr)));
  if constexpr (!std::is_empty_v<Back>) {
    return error_backward_captures<Back>{};
  } else if constexpr (!callable::value) {
    return callable{};
  } else {
    using returned = decltype(returned_by<Back>(static_cast<arguments const*>(nullptr)));
    if constexpr (std::is_same_v<returned, refused>)
      return ok{};
    else
      return decltype(cotangents_verdict<returned>(static_cast<typename cotangent_list<returned>::type const*>(nullptr),
                                                   static_cast<Operands const*>(nullptr))){};
  }
}

// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void forward_captures_tracked() {
  throw user_error(
      "custom_vjp: its forward captures a tensor that has a gradient, and backward gives none for it: pass "
      "it as an argument, or capture mtf::stop_gradient of it");
}

template <class A>
constexpr A untracked_argument(A const& a) {
  if constexpr (tensor_type<A> || fields<A> || are_layers<A>)
    return untracked(a);
  else
    return a;
}

template <class F, class Back, class Y, class Residuals, class... Args>
constexpr Y call_with_vjp(F const& forward, Back const& backward, Args const&... args) {
  using backend_type = backend_in_t<Y>;
  tape<backend_type>* on = nullptr;
  auto const look = [&](auto* t) {
    if (t != nullptr && on != nullptr && t != on) gradient_of_a_gradient();
    if (t != nullptr) on = t;
  };
  (look(tape_of_argument<backend_type>(args)), ...);
  auto const found = forward(untracked_argument(args)...);
  Y y = loss_in(found);
  if (tape_of_argument<backend_type>(y) != nullptr) forward_captures_tracked();
  if (on == nullptr) return y;
  vjp_operands<backend_type> in;
  (push_operands(in, args), ...);
  auto residuals = residuals_in(found);
  detach(residuals);
  auto const out = tracked(*on, y);
  Y like_y = y;
  each_tensor([](auto& tensor) { tensor = untracked(placeholder_of(tensor)); }, like_y);
  using node = custom_vjp_node<Back, Residuals, backend_type, Y, differentiable_t<Args...>>;
  on->push([&] { return node(backward, residuals, like_y, out, in); });
  return y;
}

}  // namespace detail

/// What forward(args...) returns, with a gradient of the user's (JAX's custom_vjp): forward returns a tensor, or a
/// structure of tensors (MTF_FIELDS), or a std::pair of that and of what backward needs; what its operations would keep
/// is not kept. In the backward pass backward(residuals, cotangent), or backward(cotangent) where forward gives it
/// nothing, returns a cotangent for each argument that is a tensor of floating elements or a structure of tensors, in
/// their order: of one the cotangent itself, of several a std::tuple. Numbers, keys and integers have none.
///
/// The cotangent of the result has its type, and is reduced first (one all-reduce for each tensor whose gradient
/// arrives partial); where none arrives backward is not called. Those that backward returns may be partial: they are
/// terms of a gradient like others. One that holds nothing, `X()`, is zero. Sends what both functions send. Around and
/// within it may stand recompute, scan, plans and other custom_vjp.
///
/// Refused: a backward that captures (what it refers to may be gone by then); a forward that captures a tensor with a
/// gradient (a user_error: numbers may be captured); arguments that a function does not take;
/// a partial tensor in a structure that forward returns; cotangents of another number, other dimensions or elements, or
/// split otherwise than their operands (where layouts are values that is a user_error).
template <class Forward, class Backward, class... Args>
constexpr auto custom_vjp(Forward const& forward, Backward const& backward, Args const&... args) {
  if constexpr (!detail::callable_t<Forward, Args const&...>::value) {
    detail::require<detail::callable_t<Forward, Args const&...>>{};
    return refused{};
  } else {
    using found = detail::found_forward<std::remove_cvref_t<decltype(forward(args...))>>;
    using Y = typename found::result;
    using residuals = typename found::residuals;
    using forward_verdict = decltype(detail::forward_verdict<Y>());
    if constexpr (std::is_same_v<Y, refused>) {
      return refused{};
    } else if constexpr (!forward_verdict::value) {
      detail::require<forward_verdict>{};
      return refused{};
    } else {
      using verdict = decltype(detail::vjp_verdict<Backward, residuals, Y, detail::differentiable_t<Args...>>());
      if constexpr (!verdict::value) {
        detail::require<verdict>{};
        return refused{};
      } else if constexpr (std::is_same_v<decltype(detail::returned_by<Backward>(
                                              static_cast<detail::backward_arguments<residuals, Y> const*>(nullptr))),
                                          refused>) {
        return refused{};
      } else {
        return detail::call_with_vjp<Forward, Backward, Y, residuals>(forward, backward, args...);
      }
    }
  }
}

}  // namespace mtf
