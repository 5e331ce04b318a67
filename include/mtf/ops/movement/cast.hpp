#pragma once
// The same numbers in another element type.
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

template <class Backend, class To, class From>
class cast_node {
 public:
  constexpr cast_node(sharding const& s, ref<gradient_slot<Backend, From>> const& in,
                      ref<gradient_slot<Backend, To>> const& out)
      : s_(&s), in_(in), out_(out) {}
  constexpr void run() {
    // A gradient that becomes narrower is completed before: sums are taken in the wider type.
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "cast", *s_);
    auto g = out_->take(sizeof(From) < sizeof(To) ? 0U : ~0U);
    if (!g.memory) return;
    auto const n = s_->local_size(b.ranks().mesh());
    auto dx = make_buffer<From>(b, n);
    b.run(primitives::copy<From, To>{loops<2>{.rank = 1, .extent = {n}, .stride = {extents{1}, extents{1}}},
                                     data_of<From>(dx), data_of<To>(g.memory)});
    in_->add({std::move(dx), g.partial});
  }

 private:
  sharding const* s_;
  ref<gradient_slot<Backend, From>> in_;
  ref<gradient_slot<Backend, To>> out_;
};

template <class To, class Backend, class From>
constexpr value<Backend, To> run_cast(sharding const& in, axis_mask complete, value<Backend, From> const& operand) {
  Backend& b = operand.backend();
  operation<Backend> const here(b, "cast", in);
  auto const x = completed_value(operand, in, complete);
  auto const n = in.local_size(b.ranks().mesh());
  auto out = make_value<To>(b, n);
  b.run(primitives::copy<To, From>{loops<2>{.rank = 1, .extent = {n}, .stride = {extents{1}, extents{1}}}, out.data(),
                                   x.data()});
  if constexpr (is_floating<To> && is_floating<From>)
    record(tape_of(x), out, in, [&](auto const& slot) { return cast_node<Backend, To, From>(in, x.slot, slot); });
  return out;
}

}  // namespace detail

/// The same values as elements of type T. A partial tensor stays partial unless T is narrower: sums are taken in the
/// wider type.
template <class T, operand X>
constexpr auto cast(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else if constexpr (std::is_same_v<T, typename X::element_type>) {
    return x;
  } else {
    constexpr bool widens =
        is_floating<T> && is_floating<typename X::element_type> && sizeof(T) >= sizeof(typename X::element_type);
    using kept = std::conditional_t<widens, typename X::partial_type, partial<>>;
    using out = tensor<T, typename X::shape_type, typename X::layout_type, kept, typename X::backend_type>;
    return out(detail::run_cast<T>(X::spec, widens ? 0 : X::spec.partial, x.value()));
  }
}

}  // namespace mtf
