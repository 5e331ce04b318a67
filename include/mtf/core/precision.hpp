#pragma once
// Which element types a model has: one policy, given once, to the place of its parameters.
#include <type_traits>

#include <mtf/core/element.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>

namespace mtf {

/// Element types that a model cannot have together.
template <class Parameter, class Compute, class Completed, class State>
struct error_precision : detail::failed {};

namespace detail {

template <class P, class C, class D, class S, class... By>
struct require<error_precision<P, C, D, S>, By...> {
  static_assert(
      never<P, C, D, S>,
      MTF_SENTENCE(
          "mtf: a precision computes in the parameters' type, or in bfloat16 where that is float, "
          "completes gradients in one of the two, and keeps an optimizer's state in what parameters "
          "are computed in or, where that is float, in bfloat16; error_precision<parameter, compute, completed, state>",
          P, C, D, S));
};

/// The verdict on a precision.
template <class Parameter, class Compute, class Completed, class State>
using precision_verdict_t =
    std::conditional_t<is_floating<Parameter> &&
                           (std::is_same_v<Compute, Parameter> ||
                            (std::is_same_v<Parameter, float> && std::is_same_v<Compute, bfloat16>)) &&
                           (std::is_same_v<Completed, Compute> || std::is_same_v<Completed, Parameter>) &&
                           (std::is_same_v<State, compute_t<Parameter>> ||
                            (std::is_same_v<State, bfloat16> && std::is_same_v<compute_t<Parameter>, float>)),
                       ok, error_precision<Parameter, Compute, Completed, State>>;

}  // namespace detail

/// The element types of a model, given to `place` instead of one element type, and so a part of the parameters' type:
/// `mlp<mtf::place<mtf::mixed_bfloat16, where, backend>::tensor>`.
/// - Parameter: parameters between steps, which the optimizer updates and checkpoints hold ("master weights").
/// - Compute: what the differentiated function computes in. value_and_grad gives it copies of the parameters in this
///   type, so its activations and their messages have it too.
/// - Completed: gradients, as ranks reduce them and the optimizer reads them. Contributions of bfloat16 are added in
///   float, if there are several, and so are micro-batches. Where it is wider than Compute, each is
///   converted when all contributions to it are added, before it is reduced.
/// - State: the optimizer's state. bfloat16 is half the memory: what is kept is rounded up or down at random, so that
///   small changes add up, by numbers that depend on the parameter's name, the element's place in the global tensor and
///   the count of updates, and so on no layout.
///
/// Norms, softmax and products compute in float whatever is stored, and losses are float (docs/design/numbers.md,
/// "Element types"). Refused: a Compute that is neither Parameter nor bfloat16 for float, a Completed that is neither
/// of these two, a State that is neither what parameters are computed in nor, where that is float, bfloat16.
template <class Parameter, class Compute = Parameter, class Completed = Compute, class State = compute_t<Parameter>>
struct precision {
  using checked = checked_t<detail::precision_verdict_t<Parameter, Compute, Completed, State>>;
  /// Of parameters between steps.
  using parameter = Parameter;
  /// Of what the function gets and computes.
  using compute = Compute;
  /// Of gradients.
  using completed = Completed;
  /// Of the optimizer's state.
  using state = State;
};

/// float parameters and optimizer state; activations, gradients and all messages in bfloat16. `precision<float,
/// bfloat16, float>` reduces gradients in float.
using mixed_bfloat16 = precision<float, bfloat16>;

namespace detail {

template <class P>
inline constexpr bool is_precision = false;
template <class... T>
inline constexpr bool is_precision<precision<T...>> = true;

/// The element type of tensors in a place of this element type, or precision.
template <class T>
struct parameter_type {
  using type = T;
};
template <class... T>
struct parameter_type<precision<T...>> {
  using type = typename precision<T...>::parameter;
};

}  // namespace detail
}  // namespace mtf
