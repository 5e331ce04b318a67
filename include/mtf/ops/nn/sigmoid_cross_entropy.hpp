#pragma once
// The loss of yes and no.
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>
#include <mtf/ops/movement/cast.hpp>

namespace mtf {

namespace detail {

struct sigmoid_cross_entropy_call {
  template <class X, class Targets>
  static auto verdict() -> floating_t<X>;
  template <class X, class Targets>
  using operands_rule = map_shardings_of<functions::sigmoid_cross_entropy, X, Targets>;
  template <class X, class Targets>
  constexpr auto operator()(X const& logits, Targets const& targets) const {
    if constexpr (is_floating<typename Targets::element_type>)
      return map(functions::sigmoid_cross_entropy{}, logits, targets);
    else
      return map(functions::sigmoid_cross_entropy{}, logits, cast<typename X::element_type>(targets));
  }
};

}  // namespace detail

/// -(target log s + (1 - target) log(1 - s)) of every element, s = sigmoid(logit): each is a question by itself, whose
/// answer is a target from 0 to 1, or a bool. Without overflow, and exact where it is near 0. Communication: as for any
/// `map`. Refused: logits of integers, floating targets of another type, what `map` refuses.
template <operand X, operand Targets>
constexpr auto sigmoid_cross_entropy(X const& logits, Targets const& targets) {
  return detail::operate(detail::sigmoid_cross_entropy_call{}, logits, targets);
}

}  // namespace mtf
