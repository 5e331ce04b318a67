#pragma once
// How every operation runs: its operands are reduced as its work says, its results get memory, and a node for the
// backward pass goes onto the tape.
#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/ops/passes.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>

namespace mtf::detail {

/// An operation's label; on a trace with the parameters among its operands. These are values, or gradient slots.
template <class Backend, class... Operand>
constexpr operation_label label_of(char const* name, [[maybe_unused]] Operand const&... operands) {
  if constexpr (Backend::holds_data) {
    return name;
  } else {
    labelling<Backend> seen(name);
    (seen.see(operands), ...);
    return seen.label();
  }
}

/// Tells a trace the operands of the operation that it is in.
template <class Backend, class Work>
constexpr void tell_operands([[maybe_unused]] Backend& b, [[maybe_unused]] Work const& work) {
  if constexpr (!Backend::holds_data) b.takes(work.in);
}

/// An operation on the tape: `Slots` are those of its results.
template <class Operation, class Backend, class R, class Slots, class... T>
class operation_node {
 public:
  constexpr operation_node(Operation const& o, Slots const& out, forward_pass<Operation, Backend, R, T...> const& f)
      : operation_(o), out_(out) {
    // One by one: in constant expressions GCC 12 copies an array of references without counting them.
    std::size_t i = 0;
    for (auto const& memory : f.kept) kept_[i++] = memory;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(slots_) = std::get<I>(f.in).slot), ...);
    }(std::index_sequence_for<T...>{});
  }
  constexpr void run() {
    Backend& b = backend_of(out_);
    auto const label =
        std::apply([&](auto const&... slot) { return label_of<Backend>(operation_.name(), slot...); }, slots_);
    operation<Backend> const here(b, label, operation_.work->out);
    tell_operands(b, *operation_.work);
    auto g = taken(out_);
    if (!any_arrived(g)) return;
    backward_pass<Operation, Backend, R, T...> pass(b, operation_, kept_, g, slots_);
    operation_.backward(pass);
    kept_ = {};
    pass.deliver_all();
  }

 private:
  template <class First>
  static constexpr Backend& backend_of(ref<First> const& only) {
    return only->owner().backend();
  }
  template <class... Slot>
  static constexpr Backend& backend_of(std::tuple<Slot...> const& all) {
    Backend* b = nullptr;
    auto const look = [&](auto const& slot) {
      if constexpr (!std::is_same_v<std::remove_cvref_t<decltype(slot)>, no_slot>) b = &slot->owner().backend();
    };
    std::apply([&](auto const&... slot) { (look(slot), ...); }, all);
    return *b;
  }
  template <class First>
  constexpr cotangents<Backend, R> taken(ref<First> const& only) const {
    return {.first = only->take(operation_.work->gradient_may_be_partial)};
  }
  /// Of several results: partial over the axes over which all that arrived are.
  template <class... Slot>
  constexpr cotangents<Backend, R> taken(std::tuple<Slot...> const& all) const {
    cotangents<Backend, R> g;
    axis_mask partial = operation_.work->gradient_may_be_partial;
    auto const take = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (is_floating<result_element<I, R>>) {
        auto& one = g.template at<I>();
        one = std::get<I>(all)->take(partial);
        if (one.memory) partial = one.partial;
      }
    };
    auto const complete = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      using E = result_element<I, R>;
      if constexpr (is_floating<E>) {
        auto& one = g.template at<I>();
        if (one.memory)
          one.memory = completed<E>(sharding_of_result<I>(*operation_.work), one.partial & ~partial, one.memory);
        one.partial = partial;
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (take(std::integral_constant<std::size_t, I>{}), ...);
      (complete(std::integral_constant<std::size_t, I>{}), ...);
    }(std::index_sequence_for<Slot...>{});
    g.first.partial = partial;
    return g;
  }
  static constexpr bool any_arrived(cotangents<Backend, R> const& g) {
    bool any = static_cast<bool>(g.first.memory);
    for (auto const& one : g.further) any = any || one.memory;
    return any;
  }

  Operation operation_;
  Slots out_;
  std::tuple<slot_t<Backend, T>...> slots_;
  std::array<buffer<Backend>, Operation::kept> kept_;
};

/// On a trace a partial result remembers what made its terms: this operation, or, if it has one operand whose terms it
/// only passes on (as transpose does), what made those.
template <class Backend, class T, class... More>
constexpr void pass_label_on(buffer<Backend> const& result, axis_mask partial, operation_label const& label,
                             value<Backend, T> const& x, value<Backend, More> const&...) {
  if constexpr (!Backend::holds_data)
    if (partial != 0) {
      bool const same = sizeof...(More) == 0 && x.memory->made_by.name != nullptr;
      result->made_by = same ? x.memory->made_by : label;
    }
}

template <class Backend, class T, class... More>
constexpr Backend& backend_of_first(value<Backend, T> const& x, More const&...) {
  return x.backend();
}

/// Whether an operation of these element types can have gradients.
template <class R, class... T>
inline constexpr bool recordable = any_result_floating<R> && (is_floating<T> || ...);

/// The tape on which an operation with these operands is recorded; null if on none.
template <class R, class Backend, class... T>
constexpr tape<Backend>* tape_for([[maybe_unused]] value<Backend, T> const&... operands) {
  if constexpr (recordable<R, T...>)
    return tape_of(operands...);
  else
    return nullptr;
}

/// A result becomes a value, of which the backend is told; it has a slot for its gradient if there is a tape.
template <std::size_t I, class R, class Pass, class Backend, class... T>
constexpr auto result_of(Pass& pass, tape<Backend>* t, operation_label const& label,
                         value<Backend, T> const&... operands) {
  using E = result_element<I, R>;
  auto const& where = sharding_of_result<I>(pass.work);
  auto const& memory = pass.template result<I>();
  value<Backend, E> made(memory);
  pass_label_on(memory, where.partial, label, operands...);
  if constexpr (is_floating<E>) {
    pass.backend.made(static_cast<E const*>(made.data()), where);
    if (t != nullptr) made.slot = make_ref<gradient_slot<Backend, E>>(t->backend(), *t, where);
  }
  return made;
}

/// Computes an operation, and records it on the tape, if there is one.
template <class R, class Operation, class Backend, class... T>
constexpr results<Backend, R> compute_and_record(Operation const& o, forward_pass<Operation, Backend, R, T...>& pass,
                                                 tape<Backend>* t, operation_label const& label,
                                                 value<Backend, T> const&... operands) {
  o.forward(pass);
  auto const record_as = [&](auto const& slots) {
    using slots_type = std::remove_cvref_t<decltype(slots)>;
    t->push([&] { return operation_node<Operation, Backend, R, slots_type, T...>(o, slots, pass); });
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    results<Backend, R> all(result_of<I, R>(pass, t, label, operands...)...);
    if constexpr (recordable<R, T...>)
      if (t != nullptr) {
        if constexpr (result_count<R> == 1)  // (not sizeof...(I): Clang would look for a tuple's slot)
          record_as(all.slot);
        else
          record_as(std::make_tuple(std::get<I>(all).slot...));
      }
    return all;
  }(std::make_index_sequence<result_count<R>>{});
}

/// What `run` does.
template <class R, class Operation, class Backend, class... T>
constexpr results<Backend, R> run_anywhere(Operation const& o, value<Backend, T> const&... operands) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const& w = *o.work;
    Backend& b = backend_of_first(operands...);
    auto const label = label_of<Backend>(o.name(), operands...);
    operation<Backend> const here(b, label, w.out);
    tell_operands(b, w);
    forward_pass<Operation, Backend, R, T...> pass{b, w, {completed_value(operands, w.in[I], w.complete[I])...}};
    return compute_and_record<R>(o, pass, tape_for<R>(operands...), label, operands...);
  }(std::index_sequence_for<T...>{});
}

/// What `run` does on a backend that holds data. Its compiled library has the commonest ones (mtf/ops/compiled.hpp), so
/// this is neither constexpr nor inline: either would have every program compile it again.
template <class R, class Operation, class Backend, class... T>
results<Backend, R> run_on_data(Operation const& o, value<Backend, T> const&... operands) {
  return run_anywhere<R>(o, operands...);
}

/// Runs an operation; its result has elements R, or its results those of a list. Leaves a node on the tape if an
/// operand is tracked.
template <class R, class Operation, class Backend, class... T>
constexpr results<Backend, R> run(Operation const& o, value<Backend, T> const&... operands) {
  if constexpr (Backend::holds_data)
    return run_on_data<R>(o, operands...);
  else
    return run_anywhere<R>(o, operands...);
}

/// Runs an operation whose first operand is used up: `first` holds it no more, so that the result may have its memory
/// (forward_pass::y_from_x).
template <class R, class Operation, class Backend, class X, class... T>
constexpr results<Backend, R> run_using_up(Operation const& o, value<Backend, X>&& first,
                                           value<Backend, T> const&... others) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const& w = *o.work;
    Backend& b = first.backend();
    auto const label = label_of<Backend>(o.name(), first, others...);
    operation<Backend> const here(b, label, w.out);
    tell_operands(b, w);
    auto* const t = tape_for<R>(first, others...);
    forward_pass<Operation, Backend, R, X, T...> pass{
        b,
        w,
        {completed_value(first, w.in[0], w.complete[0]), completed_value(others, w.in[1 + I], w.complete[1 + I])...}};
    first.memory = {};
    return compute_and_record<R>(o, pass, t, label, std::get<0>(pass.in), others...);
  }(std::index_sequence_for<T...>{});
}

}  // namespace mtf::detail
