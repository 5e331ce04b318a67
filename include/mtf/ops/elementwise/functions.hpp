#pragma once
// The function objects behind the elementwise operations. A user's own look the same: a namespace-scope struct with a
// templated call operator, optionally with the five constants below.
//
//   name                what plans and profiles call it (default: map)
//   linear              which operands may stay partial (default: none)
//   derivative_is_one   operands whose gradient is the result's, so that nothing is computed (default: none)
//   saves_inputs        false: the derivatives do not depend on the operands, which are freed early (default: true)
//   only_floating       true: it means nothing on integers and bools, which are refused (default: false)
#include <array>
#include <cstdint>
#include <type_traits>

#include <mtf/core/host_device.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/math/dual.hpp>
#include <mtf/math/functions.hpp>

namespace mtf::functions {

struct add {
  static constexpr char const* name = "add";
  static constexpr linearity linear = linearity::additive;
  static constexpr std::array derivative_is_one{true, true};
  static constexpr bool saves_inputs = false;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return a + b;
  }
};
struct subtract {
  static constexpr char const* name = "subtract";
  static constexpr linearity linear = linearity::additive;
  static constexpr std::array derivative_is_one{true, false};
  static constexpr bool saves_inputs = false;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return a - b;
  }
};
struct multiply {
  static constexpr char const* name = "multiply";
  static constexpr linearity linear = linearity::multiplicative;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return a * b;
  }
};
struct divide {
  static constexpr char const* name = "divide";
  static constexpr linearity linear = linearity::first;
  template <class A, class B>
  MTF_FUNCTION constexpr auto operator()(A a, B b) const {
    return math::divide(a, b);
  }
};
struct negate {
  static constexpr char const* name = "negate";
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
  static constexpr char const* name = "multiply";
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
  static constexpr char const* name = "add";
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
  static constexpr char const* name = "subtract";
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
  static constexpr char const* name = "subtract";
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
  static constexpr char const* name = "divide";
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
  static constexpr char const* name = "divide";
  T number;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return math::divide(number, a);
  }
};
/// x^exponent; a negative x gives NaN
template <class T>
struct power {
  static constexpr char const* name = "pow";
  static constexpr bool only_floating = true;
  T exponent;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::pow(a, exponent);
  }
};
/// x^exponent by products
struct whole_power {
  static constexpr char const* name = "pow";
  std::int32_t exponent;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return math::whole_power(a, exponent);
  }
};
template <class T>
struct clip {
  static constexpr char const* name = "clip";
  T low, high;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::clip(a, low, high);
  }
};

/// elu(x, alpha)
template <class T>
struct elu {
  static constexpr char const* name = "elu";
  static constexpr bool only_floating = true;
  T alpha;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::elu(a, alpha);
  }
};
/// leaky_relu(x, slope)
template <class T>
struct leaky_relu {
  static constexpr char const* name = "leaky_relu";
  static constexpr bool only_floating = true;
  T slope;
  template <class A>
  MTF_FUNCTION constexpr auto operator()(A a) const {
    return math::leaky_relu(a, slope);
  }
};
struct remainder {
  static constexpr char const* name = "remainder";
  template <class A, class B>
  MTF_FUNCTION auto operator()(A a, B b) const {
    return math::remainder(a, b);
  }
};
/// x % number
template <class T>
struct remainder_by {
  static constexpr char const* name = "remainder";
  static constexpr bool saves_inputs = false;
  static constexpr std::array derivative_is_one{true};
  T number;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::remainder(a, number);
  }
};
/// floor_divide(x, number)
template <class T>
struct floor_divide_by {
  static constexpr char const* name = "floor_divide";
  static constexpr bool saves_inputs = false;
  T number;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::floor_divide(a, number);
  }
};
struct sigmoid_cross_entropy {
  static constexpr char const* name = "sigmoid_cross_entropy";
  static constexpr bool only_floating = true;
  template <class A, class B>
  MTF_FUNCTION auto operator()(A logit, B target) const {
    return math::sigmoid_cross_entropy(logit, target);
  }
};
/// Whether both are true; numbers are where they are not 0.
struct logical_and {
  static constexpr char const* name = "logical_and";
  template <class A, class B>
  MTF_FUNCTION constexpr bool operator()(A a, B b) const {
    return a != A(0) && b != B(0);
  }
};
/// Whether one is true.
struct logical_or {
  static constexpr char const* name = "logical_or";
  template <class A, class B>
  MTF_FUNCTION constexpr bool operator()(A a, B b) const {
    return a != A(0) || b != B(0);
  }
};

#define MTF_DEFINE(NAME, FLOATING)                  \
  struct NAME {                                     \
    static constexpr char const* name = #NAME;      \
    static constexpr bool only_floating = FLOATING; \
    template <class... A>                           \
    MTF_FUNCTION auto operator()(A... a) const {    \
      return math::NAME(a...);                      \
    }                                               \
  };
MTF_FUNCTIONS_OF_ONE(MTF_DEFINE)
MTF_FUNCTIONS_OF_TWO(MTF_DEFINE)
#undef MTF_DEFINE
#define MTF_DEFINE(NAME, FLOATING)                  \
  struct NAME {                                     \
    static constexpr char const* name = #NAME;      \
    static constexpr bool only_floating = FLOATING; \
    static constexpr bool saves_inputs = false;     \
    template <class A>                              \
    MTF_FUNCTION auto operator()(A a) const {       \
      return math::NAME(a);                         \
    }                                               \
  };
MTF_STEPS(MTF_DEFINE)
#undef MTF_DEFINE
#define MTF_DEFINE(NAME, FLOATING)                        \
  struct NAME {                                           \
    static constexpr char const* name = #NAME;            \
    static constexpr linearity linear = linearity::first; \
    static constexpr bool only_floating = FLOATING;       \
    template <class A, class B>                           \
    MTF_FUNCTION auto operator()(A a, B gate) const {     \
      return math::NAME(a, gate);                         \
    }                                                     \
  };
MTF_GATES(MTF_DEFINE)
#undef MTF_DEFINE

struct where {
  static constexpr char const* name = "where";
  template <class A, class B>
  MTF_FUNCTION auto operator()(bool c, A if_true, B if_false) const {
    return math::where(c, if_true, if_false);
  }
};
/// where(c, x, number)
template <class T>
struct where_else {
  static constexpr char const* name = "where";
  T number;
  template <class A>
  MTF_FUNCTION auto operator()(bool c, A if_true) const {
    return math::where(c, if_true, number);
  }
};
/// where(c, number, x)
template <class T>
struct where_not {
  static constexpr char const* name = "where";
  T number;
  template <class A>
  MTF_FUNCTION auto operator()(bool c, A if_false) const {
    return math::where(c, number, if_false);
  }
};
/// where(c, one number, another)
template <class T>
struct choice {
  static constexpr char const* name = "where";
  T if_true, if_false;
  MTF_FUNCTION constexpr T operator()(bool c) const { return c ? if_true : if_false; }
};
/// max(x, number)
template <class T>
struct at_least {
  static constexpr char const* name = "max";
  T number;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::max(a, number);
  }
};
/// min(x, number)
template <class T>
struct at_most {
  static constexpr char const* name = "min";
  T number;
  template <class A>
  MTF_FUNCTION auto operator()(A a) const {
    return math::min(a, number);
  }
};

#define MTF_DEFINE(NAME, OP)                                 \
  struct NAME {                                              \
    static constexpr char const* name = #NAME;               \
    template <class A, class B>                              \
    MTF_FUNCTION constexpr bool operator()(A a, B b) const { \
      return a OP b;                                         \
    }                                                        \
  };                                                         \
  template <class T>                                         \
  struct NAME##_number {                                     \
    static constexpr char const* name = #NAME;               \
    T number;                                                \
    template <class A>                                       \
    MTF_FUNCTION constexpr bool operator()(A a) const {      \
      return a OP number;                                    \
    }                                                        \
  };
MTF_COMPARISONS(MTF_DEFINE)
#undef MTF_DEFINE

}  // namespace mtf::functions

namespace mtf::math {

template <>
inline constexpr bool selects<functions::relu> = true;
template <>
inline constexpr bool selects<functions::max> = true;
template <>
inline constexpr bool selects<functions::min> = true;
template <>
inline constexpr bool selects<functions::where> = true;
template <class T>
inline constexpr bool selects<functions::clip<T>> = true;
template <class T>
inline constexpr bool selects<functions::where_else<T>> = true;
template <class T>
inline constexpr bool selects<functions::where_not<T>> = true;
template <class T>
inline constexpr bool selects<functions::at_least<T>> = true;
template <class T>
inline constexpr bool selects<functions::at_most<T>> = true;
template <>
inline constexpr bool selects<functions::floor_divide> = true;
template <class T>
inline constexpr bool selects<functions::floor_divide_by<T>> = true;
#define MTF_DEFINE(NAME, FLOATING) \
  template <>                      \
  inline constexpr bool selects<functions::NAME> = true;
MTF_STEPS(MTF_DEFINE)
#undef MTF_DEFINE

}  // namespace mtf::math
