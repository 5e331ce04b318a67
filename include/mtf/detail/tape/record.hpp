#pragma once
// How operations leave nodes on a tape.
#include <mtf/backend/ref.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>

namespace mtf::detail {

/// The tape on which an operation with these operands is recorded; null if none is tracked, or no more.
template <class Backend, class... T>
constexpr tape<Backend>* tape_of(value<Backend, T> const&... x) {
  tape<Backend>* t = nullptr;
  auto const look = [&](auto const& slot) {
    tape<Backend>* const living = slot ? slot->living() : nullptr;
    if (living == nullptr) return;
    if (t != nullptr && t != living) gradient_of_a_gradient();
    t = living;
  };
  (look(x.slot), ...);
  return t;
}

/// Called by every operation with its result: tells the backend of it. Gives `out` a slot and records the node that
/// `make(slot)` returns, if one of the operands is tracked.
template <class Backend, class T, class Make>
constexpr void record(tape<Backend>* t, value<Backend, T>& out, sharding const& where, Make make) {
  out.backend().made(static_cast<T const*>(out.data()), where);
  if (t == nullptr) return;
  out.slot = make_ref<gradient_slot<Backend, T>>(t->backend(), *t, where);
  t->push(make, out.slot);
}

/// A value whose sum over `axes` is taken. It is the same logical tensor, so it shares the gradient's slot.
template <class Backend, class T>
constexpr value<Backend, T> completed_value(value<Backend, T> const& x, sharding const& s, axis_mask axes) {
  if (axes == 0) return x;
  return value<Backend, T>(completed<T>(s, axes, x.memory), x.slot);
}

}  // namespace mtf::detail
