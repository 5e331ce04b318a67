#pragma once
// Numbers as rows with a 1 in their place.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>

namespace mtf {

namespace detail {

template <class A>
struct one_hot_at {
  index extent;
  MTF_FUNCTION constexpr A operator()(std::int32_t id, std::int32_t position) const {
    if (id >= extent && std::numeric_limits<A>::has_quiet_NaN) return std::numeric_limits<A>::quiet_NaN();
    return id == position ? A(1) : A(0);
  }
};

template <class T>
struct one_hot_operation {
  operation_work<1> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "one_hot"; }

  constexpr void forward(auto& f) const {
    auto const& out = work->out;
    int const d = out.ndim - 1;
    sharding along;
    along.push(out[d]);
    auto const n = out.local_extent(d, f.mesh());
    auto positions = make_buffer<std::int32_t>(f.backend, n);
    auto* const at = data_of<std::int32_t>(positions);
    f.run(primitives::iota<std::int32_t>{rows{.n = n}, shard_offset(out, d, f.mesh(), f.rank()), at});
    f.run(primitives::map_of(one_hot_at<compute_t<T>>{out[d].logical()},
                             aligned<2>(f.mesh(), out, {work->in[0], along}), f.y(), f.x(),
                             static_cast<std::int32_t const*>(at)));
  }
};

template <class D, class T>
struct one_hot_call {
  template <class... Own>
  static auto with_dim(shape<Own...> const*) -> shape<Own..., D>;
  template <class X>
  using to = decltype(with_dim(static_cast<typename X::shape_type const*>(nullptr)));

  template <class X>
  static auto verdict() {
    using own = typename X::shape_type;
    using operand = first_failed_t<std::conditional_t<std::is_same_v<typename X::element_type, std::int32_t>, ok,
                                                      error_element_type<typename X::element_type>>,
                                   std::conditional_t<own::template has<D>, error_dim_already_there<D, own>, ok>>;
    if constexpr (operand::value)
      return tensor_verdict_t<to<X>, typename X::layout_type>{};
    else
      return operand{};
  }
  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  using adds = shape<D>;
  template <class Layout>
  static constexpr sharding target(Layout const& layout, sharding const& ids) {
    sharding to = ids;
    to.push(dim_from<D>(layout, layout.split_of(D::id, D::kin)));
    to.partial = 0;
    return to;
  }
  static constexpr operation_work<1> derive_under(auto const& layout, mesh_shape const&, sharding const& ids) {
    operation_work<1> w{.in = {ids}, .out = target(layout, ids)};
    w.complete[0] = ids.partial;
    return w;
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    using out = described<T, to<X>, typename X::layout_type, partial<>>;
    return run_as<out, one_hot_call>(one_hot_operation<T>{}, x);
  }
};

}  // namespace detail

/// Along D, which comes last, 1 at the position that `ids` (int32) names and 0 elsewhere: elements T. Zeros for a
/// negative id; for one at or above the extent NaN (zeros of integers), as `embedding` has it: the contraction of the
/// result with a table is `embedding`, which costs less. D is split as the layout of ids says; nothing is sent.
/// Refused: ids of another type, or with D.
template <dimension D, class T = float, operand Ids>
constexpr auto one_hot(Ids const& ids) {
  return detail::operate(detail::one_hot_call<D, T>{}, ids);
}

}  // namespace mtf
