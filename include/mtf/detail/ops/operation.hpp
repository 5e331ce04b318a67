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

/// An operation on the tape.
template <class Operation, class Backend, class R, class... T>
class operation_node {
 public:
  using result_slots = typename results_of<R>::template slots<Backend>;
  constexpr operation_node(Operation const& o, result_slots const& out,
                           forward_pass<Operation, Backend, R, T...> const& f)
      : operation_(o), out_(out) {
    // One by one: in constant expressions GCC 12 copies an array of references without counting them.
    std::size_t i = 0;
    for (auto const& memory : f.kept) kept_[i++] = memory;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((std::get<I>(slots_) = std::get<I>(f.in).slot), ...);
    }(std::index_sequence_for<T...>{});
  }
  constexpr void run() {
    Backend& b = std::get<first_floating()>(out_)->owner().backend();
    auto const label =
        std::apply([&](auto const&... slot) { return label_of<Backend>(operation_.name(), slot...); }, slots_);
    operation<Backend> const here(b, label, operation_.work->out);
    tell_operands(b, *operation_.work);
    auto g = taken();
    if (!any_arrived(g)) return;
    backward_pass<Operation, Backend, R, T...> pass(b, operation_, kept_, g, slots_);
    operation_.backward(pass);
    kept_ = {};
    pass.deliver_all();
  }

 private:
  template <std::size_t I = 0>
  static constexpr std::size_t first_floating() {
    if constexpr (is_floating<result_element<I, R>>)
      return I;
    else
      return first_floating<I + 1>();
  }
  /// f(I) for each result that has a gradient; I is a constant.
  template <class F>
  static constexpr void each_floating(F const& f) {
    auto const one = [&]<std::size_t I>(std::integral_constant<std::size_t, I> i) {
      if constexpr (is_floating<result_element<I, R>>) f(i);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (one(std::integral_constant<std::size_t, I>{}), ...);
    }(std::make_index_sequence<result_count<R>>{});
  }
  /// Of several, partial over the axes over which all that arrived are.
  constexpr cotangents<Backend, R> taken() const {
    cotangents<Backend, R> g;
    axis_mask partial = operation_.work->gradient_may_be_partial;
    each_floating([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      auto& one = g.template at<I>();
      one = std::get<I>(out_)->take(partial);
      if (one.memory) partial = one.partial;
    });
    if constexpr (result_count<R> > 1)
      each_floating([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
        auto& one = g.template at<I>();
        if (one.memory)
          one.memory = completed<result_element<I, R>>(sharding_of_result<I>(*operation_.work), one.partial & ~partial,
                                                       one.memory);
      });
    g.first.partial = partial;
    return g;
  }
  static constexpr bool any_arrived(cotangents<Backend, R> const& g) {
    bool any = static_cast<bool>(g.first.memory);
    for (auto const& one : g.further) any = any || one.memory;
    return any;
  }

  Operation operation_;
  result_slots out_;
  std::tuple<slot_t<Backend, T>...> slots_;
  std::array<buffer<Backend>, Operation::kept> kept_;
};

/// On a trace, what made the terms of a partial result: this operation, or, if it has one operand whose terms it only
/// passes on (as transpose does), what made those.
template <class Backend, class T, class... More>
constexpr operation_label label_of_terms([[maybe_unused]] operation_label const& label,
                                         [[maybe_unused]] value<Backend, T> const& x, value<Backend, More> const&...) {
  if constexpr (Backend::holds_data)
    return {};
  else
    return sizeof...(More) == 0 && x.memory->made_by.name != nullptr ? x.memory->made_by : label;
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
template <std::size_t I, class R, class Pass, class Backend>
constexpr auto result_of(Pass& pass, tape<Backend>* t, [[maybe_unused]] operation_label const& terms_by) {
  using E = result_element<I, R>;
  auto const& where = sharding_of_result<I>(pass.work);
  value<Backend, E> made(pass.template result<I>());
  if constexpr (!Backend::holds_data)
    if (where.partial != 0) made.memory->made_by = terms_by;
  if constexpr (is_floating<E>) {
    pass.backend.made(static_cast<E const*>(made.data()), where);
    if (t != nullptr) made.slot = make_ref<gradient_slot<Backend, E>>(t->backend(), *t, where);
  }
  return made;
}
/// The slots of what `run` returns.
template <class Backend, class R>
constexpr std::tuple<slot_t<Backend, R>> slots_of_results(value<Backend, R> const& only) {
  return {only.slot};
}
template <class Backend, class... R>
constexpr std::tuple<slot_t<Backend, R>...> slots_of_results(std::tuple<value<Backend, R>...> const& all) {
  return std::apply([](auto const&... one) { return std::tuple<slot_t<Backend, R>...>(one.slot...); }, all);
}

/// What `run` does. `let_go`: called when the operands have been taken and reduced, before the operation is computed.
template <class R, class Operation, class LetGo, class Backend, class... T>
constexpr results<Backend, R> run_anywhere(Operation const& o, LetGo const& let_go,
                                           value<Backend, T> const&... operands) {
  auto const& w = *o.work;
  Backend& b = backend_of_first(operands...);
  auto const label = label_of<Backend>(o.name(), operands...);
  operation<Backend> const here(b, label, w.out);
  tell_operands(b, w);
  auto* const t = tape_for<R>(operands...);
  auto const terms_by = label_of_terms(label, operands...);
  auto pass = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return forward_pass<Operation, Backend, R, T...>{b, w, {completed_value(operands, w.in[I], w.complete[I])...}};
  }(std::index_sequence_for<T...>{});
  let_go();
  o.forward(pass);
  pass.zero_pads_of_results();
  auto const all = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return results<Backend, R>(result_of<I, R>(pass, t, terms_by)...);
  }(std::make_index_sequence<result_count<R>>{});
  if constexpr (recordable<R, T...>)
    if (t != nullptr)
      t->push([&] { return operation_node<Operation, Backend, R, T...>(o, slots_of_results(all), pass); });
  return all;
}

/// What `run` does on a backend that holds data. Its compiled library has the commonest ones (mtf/ops/compiled.hpp), so
/// this is neither constexpr nor inline: either would have every program compile it again.
template <class R, class Operation, class Backend, class... T>
results<Backend, R> run_on_data(Operation const& o, value<Backend, T> const&... operands) {
  return run_anywhere<R>(o, [] {}, operands...);
}

/// Runs an operation; its result has elements R, or its results those of a list. Leaves a node on the tape if an
/// operand is tracked.
template <class R, class Operation, class Backend, class... T>
constexpr results<Backend, R> run(Operation const& o, value<Backend, T> const&... operands) {
  if constexpr (Backend::holds_data)
    return run_on_data<R>(o, operands...);
  else
    return run_anywhere<R>(o, [] {}, operands...);
}

/// Runs an operation whose first operand is used up: `first` holds it no more, so that the result may have its memory
/// (forward_pass::y_from_x).
template <class R, class Operation, class Backend, class X, class... T>
constexpr results<Backend, R> run_using_up(Operation const& o, value<Backend, X>&& first,
                                           value<Backend, T> const&... others) {
  return run_anywhere<R>(o, [&] { first.memory = {}; }, first, others...);
}

}  // namespace mtf::detail
