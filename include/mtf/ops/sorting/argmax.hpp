#pragma once
// Where the largest or the smallest elements of rows are.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <mtf/core/dim.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/ops/sorting/top_k.hpp>

namespace mtf {

namespace detail {

template <class T>
struct argmax_operation {
  top_work<1> const* work;
  static constexpr std::size_t kept = 0;
  [[nodiscard]] constexpr char const* name() const { return work->smallest ? "argmin" : "argmax"; }

  constexpr void forward(auto& f) const {
    auto largest = make_buffer<T>(f.backend, work->x.outer * work->x.inner);
    find_largest<T>(f, *work, data_of<T>(largest), f.y());
  }
};

template <class D, bool Smallest>
struct argmax_call {
  template <class X>
  static auto verdict() -> first_failed_t<std::conditional_t<std::is_same_v<typename X::element_type, bool>,
                                                             error_element_type<typename X::element_type>, ok>,
                                          named_dims_t<typename X::shape_type, D>>;

  static constexpr bool takes_pads = true;
  static constexpr top_work<1> derive(mesh_shape const& mesh, sharding const& x) {
    auto w = derive_top<1, D>(mesh, x, 1);
    w.smallest = Smallest;
    w.out = without(x, std::array<std::uint64_t, 1>{D::id}, 1);
    w.out.partial = 0;
    return w;
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    return run_as<description_of<std::int32_t, argmax_call, typename X::description>, argmax_call>(
        argmax_operation<typename X::element_type>{}, x);
  }
};

}  // namespace detail

/// Where along D the largest element is (int32), as top_k finds it: of equal ones the first; NaN is larger than all. If
/// D is split, each rank's largest element and its position are gathered: two all-gathers, of as many elements as the
/// result has. There is no gradient. Refused: a dimension that x lacks; bools.
template <dimension D, operand X>
constexpr auto argmax(X const& x) {
  return detail::operate(detail::argmax_call<D, false>{}, x);
}

/// Where along D the smallest element is, likewise: of equal ones the first, -0 before 0; NaN is smaller than all.
template <dimension D, operand X>
constexpr auto argmin(X const& x) {
  return detail::operate(detail::argmax_call<D, true>{}, x);
}

}  // namespace mtf
