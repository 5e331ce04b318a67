#pragma once
// The same numbers in another element type.
#include <cstddef>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

template <class To, class From>
struct cast_operation {
  operation_work<1> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "cast"; }

  constexpr void forward(auto& f) const { f.run(primitives::copy<To, From>{all(f.mesh()), f.y(), f.x()}); }
  constexpr void backward(auto& g) const { g.run(primitives::copy<From, To>{all(g.mesh()), g.dx(), g.dy()}); }

 private:
  [[nodiscard]] constexpr loops<2> all(mesh_shape const& mesh) const {
    return {.ndim = 1, .extent = {work->out.local_size(mesh)}, .stride = {extents{1}, extents{1}}};
  }
};

template <class To>
struct cast_call {
  template <class X>
  static auto verdict() -> ok;

  /// Sums are taken in the wider type: before the cast if it narrows.
  template <class From>
  struct rule {
    static constexpr bool takes_pads = true;
    static constexpr bool widens = is_floating<To> && is_floating<From> && sizeof(To) >= sizeof(From);
    static constexpr operation_work<1> derive(mesh_shape const&, sharding const& x) {
      operation_work<1> w{.in = {x}, .out = x};
      if (!widens) w.out.partial = 0;
      w.complete[0] = x.partial & ~w.out.partial;
      if (sizeof(From) < sizeof(To)) w.gradient_may_be_partial = 0;
      return w;
    }
  };
  template <class X>
  constexpr auto operator()(X const& x) const {
    using From = typename X::element_type;
    if constexpr (std::is_same_v<To, From>) {
      return x;
    } else {
      constexpr auto const& w = work_in_types<rule<From>, typename X::description>;
      using out = described<To, typename X::shape_type, typename X::layout_type,
                            partial_of<typename X::mesh_type, w.out.partial>>;
      return run_as<out, rule<From>>(cast_operation<To, From>{}, x);
    }
  }
};

}  // namespace detail

/// The same values as elements of type T. Nothing is sent, except that a partial tensor is reduced first if T is
/// narrower or no floating type: sums are taken in the wider type. The gradient likewise, on its way back.
template <class T, operand X>
constexpr auto cast(X const& x) {
  return detail::operate(detail::cast_call<T>{}, x);
}

}  // namespace mtf
