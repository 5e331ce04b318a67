#pragma once
// Work on each element by itself.
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// out[0..n) = value.
template <class T>
struct fill {
  static constexpr char const* name = "mtf::fill";
  T* out;
  index n;
  std::type_identity_t<T> value;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(n); }
};

/// Zeros in pads: of each of `outer` rows of `stored` bytes those from byte n on.
struct zero_pads {
  static constexpr char const* name = "mtf::zero_pads";
  index outer, n, stored;
  char* inout;

  [[nodiscard]] constexpr double bytes() const { return static_cast<double>(outer * (stored - n)); }
};

/// out = in; operands (out, in), any strides; converts the element type.
template <class To, class From>
struct copy {
  static constexpr char const* name = "mtf::copy";
  loops<2> of;
  To* out;
  From const* in;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<To>(of, 0) + bytes_moved<From>(of, 1); }
};

/// out[0, n) = in[0, n). (The element type is for its size alone, so that nothing is compiled for each.)
template <class T>
struct copy_dense {
  static constexpr char const* name = "mtf::copy";
  T* out;
  T const* in;
  index n;

  [[nodiscard]] constexpr double bytes() const { return 2 * static_cast<double>(n) * static_cast<double>(sizeof(T)); }
};

/// out = f(in...); operands (out, in...). f sees compute types.
template <class F, class R, class... T>
struct map {
  static constexpr char const* name = "mtf::map";
  F f;
  loops<1 + static_cast<int>(sizeof...(T))> of;
  R* out;
  std::tuple<T const*...> in;

  [[nodiscard]] constexpr double bytes() const {
    double n = bytes_moved<R>(of, 0);
    std::size_t operand = 1;
    ((n += bytes_moved<T>(of, operand++)), ...);
    return n;
  }
};

/// dx[i] = dy * (derivative of f in argument i), where it is wanted: 0 where dy is 0, and where the derivative of one
/// that math::selects is. dy has the strides of operand 0. dx[i] may be dy only if it is the last one wanted, and no
/// row.
template <class F, class R, class... T>
struct map_vjp {
  static constexpr char const* name = "mtf::map_vjp";
  F f;
  loops<1 + static_cast<int>(sizeof...(T))> of;
  std::array<map_gradient, sizeof...(T)> dx;
  R const* dy;
  std::tuple<T const*...> in;

  [[nodiscard]] constexpr double bytes() const {
    double n = bytes_moved<R>(of, 0);
    std::size_t i = 0;
    ((n += bytes_moved<T>(of, 1 + i) + (dx[i].wanted ? bytes_moved<T>(of, dx[i].row ? 1 + i : 0) : 0), ++i), ...);
    return n;
  }
};

/// With the types that the arguments have.
template <class F, class R, class... T>
constexpr map<F, R, T...> map_of(F f, loops<1 + static_cast<int>(sizeof...(T))> const& of, R* out, T const*... in) {
  return {f, of, out, {in...}};
}
/// With the types that the arguments have.
template <class F, class R, class... T>
constexpr map_vjp<F, R, T...> map_vjp_of(F f, loops<1 + static_cast<int>(sizeof...(T))> const& of,
                                         std::array<map_gradient, sizeof...(T)> const& dx, R const* dy,
                                         T const*... in) {
  return {f, of, dx, dy, {in...}};
}

/// inout += x; X is T, or what is computed in T.
template <class T, class X = T>
struct add {
  static constexpr char const* name = "mtf::add";
  index n;
  T* inout;
  X const* x;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(n) + bytes_moved<X>(n); }
};

/// out[o, j, i] = j + offset, over r's [outer, n, inner]; T also an integer.
template <class T>
struct iota {
  static constexpr char const* name = "mtf::iota";
  rows of;
  index offset;
  T* out;

  [[nodiscard]] constexpr double bytes() const { return bytes_moved<T>(of); }
};

}  // namespace mtf::primitives
