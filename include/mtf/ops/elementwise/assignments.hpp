#pragma once
// x += y and its like.
#include <type_traits>

#include <mtf/core/refused.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>  // IWYU pragma: keep (operators)
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// What `x += y` computes is no tensor of x's type.
template <class Tensor, class Result>
struct error_assigned_type : detail::failed {};

namespace detail {

template <class X, class R, class... By>
struct require<error_assigned_type<X, R>, By...> {
  static_assert(never<X, R>,
                MTF_SENTENCE("mtf: x += y, or another such assignment, would give x another type: the result has "
                             "other dimensions or elements, or is partial over other axes; write auto z = x + y",
                             X, R));
};

template <class X, class R>
constexpr X& assign(X& x, R const& result) {
  if constexpr (std::is_same_v<X, R>)
    x = result;
  else if constexpr (!any_refused<X, R>)
    require<error_assigned_type<X, R>>{};
  return x;
}

/// What may be assigned to so.
template <class X>
concept assignable = tensor_type<X> || std::is_same_v<X, refused>;

}  // namespace detail

// x becomes x + y, and so on: another value, whose memory is its own; copies of x stay as they were. Refused: what the
// operation refuses, and a result of another type than x.
#define MTF_DEFINE(ASSIGNMENT, OP)                      \
  template <detail::assignable X, operand Y>            \
  constexpr X& operator ASSIGNMENT(X & x, Y const& y) { \
    return detail::assign(x, x OP y);                   \
  }                                                     \
  template <detail::assignable X, math::plain_number N> \
  constexpr X& operator ASSIGNMENT(X & x, N n) {        \
    return detail::assign(x, x OP n);                   \
  }
MTF_DEFINE(+=, +)
MTF_DEFINE(-=, -)
MTF_DEFINE(*=, *)
MTF_DEFINE(/=, /)
MTF_DEFINE(%=, %)
#undef MTF_DEFINE

}  // namespace mtf
