#pragma once
// What an operation returns that was refused.
#include <type_traits>

namespace mtf {

/// What an operation returns after the compiler has refused it, so that one mistake gives one error: every operation
/// accepts it and returns it again. Nothing here is ever defined. Where a number is expected it is a double, so that of
/// the overloads of std::sqrt or std::to_string one fits best.
struct refused {
  template <class T>
    requires(!std::is_arithmetic_v<T>)
  operator T() const;        // NOLINT: implicit by purpose
  operator double() const;   // NOLINT
  refused local() const;     // of tensors
  refused complete() const;  // of gradients

  template <class Stream>
    requires requires(Stream& to) { to.flush(); }
  friend Stream& operator<<(Stream& to, refused const&) {
    return to;
  }
#define MTF_DEFINE(OP)                                     \
  template <class X>                                       \
  friend constexpr X& operator OP(X & x, refused const&) { \
    return x;                                              \
  }
  MTF_DEFINE(+=) MTF_DEFINE(-=) MTF_DEFINE(*=) MTF_DEFINE(/=)
#undef MTF_DEFINE
};

}  // namespace mtf
