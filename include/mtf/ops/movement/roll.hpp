#pragma once
// The same positions of a dimension in another order: rolled, shifted, reversed.
#include <algorithm>
#include <cstdint>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/moved_along.hpp>
#include <mtf/tensor/extent.hpp>

namespace mtf {

namespace detail {

/// The result has x's own dimensions, split as they are.
template <class D>
struct along_rule {
  static constexpr bool takes_pads = true;
  static constexpr moving_work<1> derive(mesh_shape const& mesh, sharding const& x) {
    return derive_moving(mesh, x.find(D::id), x, x);
  }
};

// Which stretches of n positions the result is made of, and what that is called.
struct rolled {
  index by;
  static constexpr char const* name = "roll";
  [[nodiscard]] constexpr moved_stretches<2> operator()(index n) const {
    index const to = (by % n + n) % n;
    return {{{{.count = n - to, .to = to}, 0}, {{.count = to, .from = n - to}, 0}}};
  }
};
struct shifted {
  index by;
  static constexpr char const* name = "shift";
  [[nodiscard]] constexpr moved_stretches<2> operator()(index n) const {
    index const to = std::clamp(by, -n, n);
    index const up = std::max<index>(to, 0), down = std::max<index>(-to, 0);
    return {{{{.count = n - up - down, .to = up, .from = down}, 0}, {}}};
  }
};
struct turned_round {
  static constexpr char const* name = "reverse";
  [[nodiscard]] constexpr moved_stretches<2> operator()(index n) const {
    return {{{{.count = n, .from = n - 1, .from_step = -1}, 0}, {}}};
  }
};

template <class D, class How>
struct along_call {
  How how;

  template <class X>
  static auto verdict() -> named_dims_t<typename X::shape_type, D>;
  using rule = along_rule<D>;
  static constexpr moving_work<1> derive(mesh_shape const& mesh, sharding const& x) { return rule::derive(mesh, x); }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    return run_as<typename X::description, rule>(moving_operation<T>{nullptr, How::name, how(extent<D>(x))}, x);
  }
};

}  // namespace detail

/// x with the positions of dimension D moved on by n, the last ones to the front: x[..., i - n modulo its extent, ...].
/// n is any integer, the same on all ranks. If D is split each rank sends what crosses to its new owners, in permutes
/// or one all-to-all: n positions to a neighbour where a shard has as many. The gradient goes back likewise. A partial
/// tensor stays partial. Refused: no such dimension.
template <dimension D, operand X>
constexpr auto roll(X const& x, std::int64_t n) {
  return detail::operate(detail::along_call<D, detail::rolled>{{n}}, x);
}

/// As roll, but what leaves at one end is lost, and zeros come in at the other: x[..., i - n, ...].
template <dimension D, operand X>
constexpr auto shift(X const& x, std::int64_t n) {
  return detail::operate(detail::along_call<D, detail::shifted>{{n}}, x);
}

/// x with dimension D from its last position to its first. If D is split, each rank exchanges its part with the rank
/// opposite, in one permute (where D has pads with two, in two); so do gradients. A partial tensor stays partial.
/// Refused: no such dimension.
template <dimension D, operand X>
constexpr auto reverse(X const& x) {
  return detail::operate(detail::along_call<D, detail::turned_round>{}, x);
}

}  // namespace mtf
