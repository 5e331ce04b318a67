#pragma once
// The function objects behind the elementwise operations. A user's own look the same: a namespace-scope struct with a
// templated call operator, optionally with the four constants below.
//
//   linear              how sums that are not taken yet may pass through (default: none)
//   derivative_is_one   operands whose gradient is the result's, so that nothing is computed (default: none)
//   saves_inputs        false: the derivatives do not depend on the operands, which are freed early (default: true)
//   only_floating       true: of integers and conditions it means nothing, and they are refused (default: false)
#include <array>
#include <cstdint>
#include <type_traits>

#include <mtf/core/host_device.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/math/functions.hpp>

namespace mtf::functions {

struct add {
  static constexpr linearity linear = linearity::additive;
  static constexpr std::array derivative_is_one{true, true};
  static constexpr bool saves_inputs = false;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return a + b;
  }
};
struct subtract {
  static constexpr linearity linear = linearity::additive;
  static constexpr std::array derivative_is_one{true, false};
  static constexpr bool saves_inputs = false;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return a - b;
  }
};
struct multiply {
  static constexpr linearity linear = linearity::multiplicative;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return a * b;
  }
};
struct divide {
  static constexpr linearity linear = linearity::first;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return math::divide(a, b);
  }
};
struct negate {
  static constexpr linearity linear = linearity::multiplicative;
  static constexpr bool saves_inputs = false;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return -a;
  }
};

/// x * factor
template <class T>
struct scale {
  static constexpr linearity linear = linearity::multiplicative;
  static constexpr bool saves_inputs = false;
  T factor;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return a * factor;
  }
};
/// x + number
template <class T>
struct shift {
  static constexpr std::array derivative_is_one{true};
  static constexpr bool saves_inputs = false;
  T number;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return a + number;
  }
};
/// x - number
template <class T>
struct shift_back {
  static constexpr std::array derivative_is_one{true};
  static constexpr bool saves_inputs = false;
  T number;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return a - number;
  }
};
/// number - x
template <class T>
struct subtract_from {
  static constexpr bool saves_inputs = false;
  T number;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return number - a;
  }
};
/// x / number; of integers not linear, as each quotient is rounded.
template <class T>
struct divide_by {
  static constexpr linearity linear = std::is_integral_v<T> ? linearity::none : linearity::multiplicative;
  static constexpr bool saves_inputs = false;
  T number;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return math::divide(a, number);
  }
};
/// number / x
template <class T>
struct divide_into {
  T number;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return math::divide(number, a);
  }
};
/// x^exponent; a negative x gives NaN
template <class T>
struct power {
  static constexpr bool only_floating = true;
  T exponent;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::pow(a, exponent);
  }
};
/// x^exponent by products
struct whole_power {
  std::int32_t exponent;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return math::whole_power(a, exponent);
  }
};
template <class T>
struct clip {
  T low, high;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::clip(a, low, high);
  }
};

#define MTF_UNARY(NAME, ...)                  \
  struct NAME {                               \
    __VA_ARGS__                               \
    template <class A>                        \
    MTF_FUNCTION auto operator()(A a) const { \
      return math::NAME(a);                   \
    }                                         \
  };
#define MTF_FLOATING static constexpr bool only_floating = true;
MTF_UNARY(exp, MTF_FLOATING)
MTF_UNARY(log, MTF_FLOATING)
MTF_UNARY(sqrt, MTF_FLOATING)
MTF_UNARY(rsqrt, MTF_FLOATING)
MTF_UNARY(tanh, MTF_FLOATING)
MTF_UNARY(sigmoid, MTF_FLOATING)
MTF_UNARY(relu)
MTF_UNARY(gelu, MTF_FLOATING)
MTF_UNARY(silu, MTF_FLOATING)
MTF_UNARY(square)
MTF_UNARY(abs)
#undef MTF_UNARY

#define MTF_BINARY(NAME, ...)                      \
  struct NAME {                                    \
    __VA_ARGS__                                    \
    template <class A, class B>                    \
    MTF_FUNCTION auto operator()(A a, B b) const { \
      return math::NAME(a, b);                     \
    }                                              \
  };
MTF_BINARY(max)
MTF_BINARY(min)
MTF_BINARY(pow, MTF_FLOATING)
#undef MTF_BINARY
#undef MTF_FLOATING

struct where {
  template <class A, class B>
  MTF_FUNCTION auto operator()(bool c, A if_true, B if_false) const {
    return math::where(c, if_true, if_false);
  }
};

#define MTF_COMPARISON(NAME, OP)                             \
  struct NAME {                                              \
    template <class A, class B>                              \
    MTF_FUNCTION constexpr bool operator()(A a, B b) const { \
      return a OP b;                                         \
    }                                                        \
  };                                                         \
  template <class T>                                         \
  struct NAME##_number {                                     \
    T number;                                                \
    template <class A>                                       \
    MTF_FUNCTION constexpr bool operator()(A a) const {      \
      return a OP number;                                    \
    }                                                        \
  };
MTF_COMPARISON(less, <)
MTF_COMPARISON(greater, >)
MTF_COMPARISON(less_equal, <=)
MTF_COMPARISON(greater_equal, >=)
MTF_COMPARISON(equal, ==)
MTF_COMPARISON(not_equal, !=)
#undef MTF_COMPARISON

}  // namespace mtf::functions
