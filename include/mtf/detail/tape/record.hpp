#pragma once
// How operations leave nodes on a tape.
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
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
  auto const look = [&]<class U>(value<Backend, U> const& operand) {
    if constexpr (is_floating<U>) {
      tape<Backend>* const living = operand.slot ? operand.slot->living() : nullptr;
      if (living == nullptr) return;
      if (t != nullptr && t != living) gradient_of_a_gradient();
      t = living;
    }
  };
  (look(x), ...);
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

/// A value whose sum over `axes` is taken. It is the same logical tensor, so it shares the gradient's slot. The plan
/// says of whose result.
template <class Backend, class T>
constexpr value<Backend, T> completed_value(value<Backend, T> const& x, sharding const& s, axis_mask axes) {
  if (axes == 0) return x;
  return value<Backend, T>(completed<T>(s, axes, x.memory, 0, x.memory->label()), x.slot);
}

/// On a trace: what an operation on these operands is called. It works on the parameters among them, or behind those
/// that are terms of a sum.
template <class Backend>
class labelling {
 public:
  constexpr explicit labelling(char const* name) : label_(name) {}

  constexpr void see(no_slot) {}
  template <class T>
  constexpr void see(ref<gradient_slot<Backend, T>> const& slot) {
    if (slot && slot->parameter >= 0)
      if (auto const* const on = slot->living()) add(on->name_of(slot->parameter));
  }
  template <class T>
  constexpr void see(value<Backend, T> const& x) {
    see(x.slot);
    if (x.memory->made_by.name == nullptr) return;
    add(x.memory->made_by.parameter);
    add(x.memory->made_by.other);
  }
  [[nodiscard]] constexpr operation_label const& label() const { return label_; }

 private:
  constexpr void add(parameter_path const& path) {
    if (path[0] == nullptr) return;
    if (label_.parameter[0] == nullptr)
      label_.parameter = path;
    else if (label_.other[0] == nullptr && !same_path(label_.parameter, path))
      label_.other = path;
  }
  operation_label label_;
};

}  // namespace mtf::detail
