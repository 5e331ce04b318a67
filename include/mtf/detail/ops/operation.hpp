#pragma once
// How every operation runs: its operands are reduced as its work says, its result gets memory, and a node for the
// backward pass goes onto the tape.
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/tape/cotangent.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/value.hpp>

namespace mtf::detail {

/// What an operation's sharding rule derives from the shardings of its N operands. An operation that needs more has
/// a class derived from this. Nodes on the tape point to it: it must outlive the tape (see `work_of`).
template <std::size_t N>
struct operation_work {
  std::array<sharding, N> in{};
  sharding out;
  std::array<axis_mask, N> complete{};       // axes over which each operand is reduced first
  axis_mask gradient_may_be_partial = ~0U;   // axes over which the gradient of the result may arrive partial
  std::array<axis_mask, N> gradient_sums{};  // axes over which each operand's gradient is partial besides
};

// An operation is a small value with (see is_operation)
//   name()               what plans and profiles call it
//   work                 a pointer to what its rule derived, an operation_work
//   kept                 how many buffers its backward pass needs (0: none are kept)
//   forward(f)           computes the shard of the result: f is a forward_pass
//   backward(g)          from the result's gradient to those of the operands: g is a backward_pass

/// An operation's forward pass. The operands x<I>() are reduced already, as the work says.
template <class Operation, class Backend, class R, class... T>
struct forward_pass {
  Backend& backend;
  decltype(*std::declval<Operation>().work) work;
  std::tuple<value<Backend, T>...> in;
  buffer<Backend> out{};
  std::array<buffer<Backend>, Operation::kept> kept{};

  template <std::size_t I = 0>
  [[nodiscard]] constexpr auto const* x() const {
    return std::get<I>(in).data();
  }
  template <std::size_t I = 0>
  [[nodiscard]] constexpr buffer<Backend> const& memory() const {
    return std::get<I>(in).memory;
  }
  /// The result's memory, made when first asked for, unless the operation brings its own as `out`.
  constexpr R* y() {
    if (!out) out = make_buffer<R>(backend, work.out.local_size(mesh()));
    return data_of<R>(out);
  }
  template <class P>
  constexpr void run(P const& primitive) const {
    backend.run(primitive);
  }
  [[nodiscard]] constexpr mesh_shape const& mesh() const { return backend.ranks().mesh(); }
  [[nodiscard]] constexpr int rank() const { return backend.ranks().rank(); }
};

/// An operation's backward pass: from `g`, the gradient of its result, to dx<I>(), the gradients of its operands.
template <class Operation, class Backend, class R, class... T>
class backward_pass {
 public:
  using slots = std::tuple<slot_t<Backend, T>...>;
  Backend& backend;
  decltype(*std::declval<Operation>().work) work;
  std::array<buffer<Backend>, Operation::kept>& kept;
  cotangent<Backend> g;

  constexpr backward_pass(Backend& b, Operation const& o, std::array<buffer<Backend>, Operation::kept>& k,
                          cotangent<Backend>&& gradient, slots const& s)
      : backend(b), work(*o.work), kept(k), g(std::move(gradient)), slots_(s) {}

  [[nodiscard]] constexpr R const* dy() const { return data_of<R>(g.memory); }
  /// Is the gradient of operand I wanted?
  template <std::size_t I = 0>
  [[nodiscard]] constexpr bool wants() const {
    return static_cast<bool>(std::get<I>(slots_));
  }
  /// Memory for the gradient of operand I, made when first asked for.
  template <std::size_t I = 0>
  constexpr nth<I, T...>* dx() {
    if (!dx_[I]) dx_[I] = make_buffer<nth<I, T...>>(backend, work.in[I].local_size(mesh()));
    return data_of<nth<I, T...>>(dx_[I]);
  }
  /// Memory with the gradient of operand I so far, or empty. If not empty, the operation must add to it in place.
  template <std::size_t I = 0>
  constexpr buffer<Backend> accumulator() {
    if (wants<I>()) dx_[I] = std::get<I>(slots_)->accumulator(partial<I>());
    adds_[I] = static_cast<bool>(dx_[I]);
    return dx_[I];
  }
  template <std::size_t I = 0>
  constexpr void set_dx(buffer<Backend> const& memory) {
    dx_[I] = memory;
  }
  /// Adds what was computed to the operand's gradient. Called after `backward` for operands not delivered by then.
  template <std::size_t I = 0>
  constexpr void deliver() {
    if constexpr (is_floating<nth<I, T...>>) {
      auto memory = std::exchange(dx_[I], {});
      if (!memory || !wants<I>()) return;
      if constexpr (!Backend::holds_data)
        if (int const i = std::get<I>(slots_)->parameter; i >= 0)
          backend.differentiated(i, work.in[I], sizeof(nth<I, T...>));
      if (adds_[I])
        std::get<I>(slots_)->added(memory);
      else
        std::get<I>(slots_)->add({std::move(memory), partial<I>()});
    }
  }
  constexpr void deliver_all() {
    [this]<std::size_t... I>(std::index_sequence<I...>) {
      (this->template deliver<I>(), ...);
    }(std::index_sequence_for<T...>{});
  }
  template <class P>
  constexpr void run(P const& primitive) const {
    backend.run(primitive);
  }
  [[nodiscard]] constexpr mesh_shape const& mesh() const { return backend.ranks().mesh(); }
  [[nodiscard]] constexpr int rank() const { return backend.ranks().rank(); }

 private:
  template <std::size_t I>
  [[nodiscard]] constexpr axis_mask partial() const {
    return g.partial | work.gradient_sums[I];
  }

  slots const& slots_;
  std::array<buffer<Backend>, sizeof...(T)> dx_{};
  std::array<bool, sizeof...(T)> adds_{};
};

/// Whether an operation says what running it asks, for a result of R and operands X; of integers there is no way back.
template <class Operation, class R, class... X>
constexpr bool is_operation() {
  using B = typename first_t<X...>::backend_type;
  constexpr bool named = requires(Operation const& o) { static_cast<char const*>(o.name()); };
  constexpr bool works = requires(Operation const& o) { o.work->out, o.work->in, o.work->complete; };
  constexpr bool keeps = requires { std::array<char, Operation::kept>{}; };
  static_assert(named, "mtf: an operation says `static constexpr char const* name()`: what plans and profiles call it");
  static_assert(!named || works,
                "mtf: an operation has `work`, a pointer to what its rule derives: an operation_work, or a class "
                "derived from it");
  static_assert(!named || !works || keeps,
                "mtf: an operation says `static constexpr std::size_t kept`: of how many buffers its backward pass "
                "needs, 0 if of none");
  if constexpr (named && works && keeps) {
    constexpr bool forward =
        requires(Operation const& o, forward_pass<Operation, B, R, typename X::element_type...>& f) { o.forward(f); };
    constexpr bool backward =
        !is_floating<R> || !(is_floating<typename X::element_type> || ...) ||
        requires(Operation const& o, backward_pass<Operation, B, R, typename X::element_type...>& g) { o.backward(g); };
    static_assert(forward,
                  "mtf: an operation says `void forward(auto& f) const`: it computes its rank's part of the "
                  "result, f.y(), from f.x<0>(), f.x<1>() and so on");
    static_assert(!forward || backward,
                  "mtf: an operation says `void backward(auto& g) const`: from the gradient of the result, g.dy(), it "
                  "computes those of its operands, g.dx<0>() and so on");
    return forward && backward;
  } else {
    return false;
  }
}

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
  constexpr operation_node(Operation const& o, ref<gradient_slot<Backend, R>> const& out,
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
    Backend& b = out_->owner().backend();
    auto const label =
        std::apply([&](auto const&... slot) { return label_of<Backend>(operation_.name(), slot...); }, slots_);
    operation<Backend> const here(b, label, operation_.work->out);
    tell_operands(b, *operation_.work);
    auto g = out_->take(operation_.work->gradient_may_be_partial);
    if (!g.memory) return;
    backward_pass<Operation, Backend, R, T...> pass(b, operation_, kept_, std::move(g), slots_);
    operation_.backward(pass);
    kept_ = {};
    pass.deliver_all();
  }

 private:
  Operation operation_;
  ref<gradient_slot<Backend, R>> out_;
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

/// What `run` does.
template <class R, class Operation, class Backend, class... T>
constexpr value<Backend, R> run_anywhere(Operation const& o, value<Backend, T> const&... operands) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const& w = *o.work;
    Backend& b = backend_of_first(operands...);
    auto const label = label_of<Backend>(o.name(), operands...);
    operation<Backend> const here(b, label, w.out);
    tell_operands(b, w);
    forward_pass<Operation, Backend, R, T...> pass{b, w, {completed_value(operands, w.in[I], w.complete[I])...}};
    o.forward(pass);
    value<Backend, R> result(pass.out);
    pass_label_on(pass.out, w.out.partial, label, operands...);
    if constexpr (is_floating<R> && !(is_floating<T> || ...))
      b.made(static_cast<R const*>(result.data()), w.out);
    else if constexpr (is_floating<R>)
      record(tape_of(operands...), result, w.out,
             [&](auto const& slot) { return operation_node<Operation, Backend, R, T...>(o, slot, pass); });
    return result;
  }(std::index_sequence_for<T...>{});
}

/// What `run` does on a backend that holds data. Its compiled library has the commonest ones (mtf/ops/compiled.hpp), so
/// this is neither constexpr nor inline: either would have every program compile it again.
template <class R, class Operation, class Backend, class... T>
value<Backend, R> run_on_data(Operation const& o, value<Backend, T> const&... operands) {
  return run_anywhere<R>(o, operands...);
}

/// Runs an operation; its result has elements R. Leaves a node on the tape if an operand is tracked.
template <class R, class Operation, class Backend, class... T>
constexpr value<Backend, R> run(Operation const& o, value<Backend, T> const&... operands) {
  if constexpr (Backend::holds_data)
    return run_on_data<R>(o, operands...);
  else
    return run_anywhere<R>(o, operands...);
}

}  // namespace mtf::detail
