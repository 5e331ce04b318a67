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

/// The tape on which an operation with these operands is recorded; null if no operand is tracked, or its tape is paused
/// or has ended.
template <class Backend, class... T>
constexpr tape<Backend>* tape_of(value<Backend, T> const&... x) {
  tape<Backend>* t = nullptr;
  auto const look = [&]<class U>(value<Backend, U> const& operand) {
    if constexpr (is_floating<U>) {
      tape<Backend>* const living = operand.slot ? operand.slot->living() : nullptr;
      if (living == nullptr || living->is_paused()) return;
      if (t != nullptr && t != living) gradient_of_a_gradient();
      t = living;
    }
  };
  (look(x), ...);
  return t;
}

/// The value reduced over `axes`. It shares x's gradient slot: the gradient of each term of a sum is the gradient of
/// the sum. In a plan the all-reduce has the name of the operation that made the terms.
template <class Backend, class T>
constexpr value<Backend, T> completed_value(value<Backend, T> const& x, sharding const& s, axis_mask axes) {
  if (axes == 0) return x;
  return value<Backend, T>(completed<T>(s, axes, x.memory, 0, x.memory->label()), x.slot);
}

/// On a trace: makes an operation's label from its name and its operands. The label names up to two parameters:
/// operands that are parameters, and those of the operations that made partial operands.
template <class Backend>
class labelling {
 public:
  constexpr explicit labelling(char const* name) : label_(name) {}

  constexpr void see(no_slot) {}
  template <class T>
  constexpr void see(ref<gradient_slot<Backend, T>> const& slot) {
    if (slot && slot->parameter >= 0)
      if (auto const* const on = slot->living()) {
        if (on->stands_for(slot->parameter) > on->backend().times()) on->backend().found_layers_to_differ();
        add(on->name_of(slot->parameter));
      }
  }
  template <class T>
  constexpr void see(value<Backend, T> const& x) {
    see(x.slot);
    auto const& memory = *x.memory;
    if (memory.bytes == 0 && !memory.whole)
      memory.backend->found_layers_to_differ();  // a placeholder: the program visits layers in its own way
    if (memory.made_by.name == nullptr) return;
    add(memory.made_by.parameter);
    add(memory.made_by.other);
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
