#pragma once
// What an operation says, and what it is given: its work, its forward and its backward pass.
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <mtf/backend/buffer.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/sharding/pads.hpp>
#include <mtf/detail/tape/cotangent.hpp>
#include <mtf/detail/tape/value.hpp>

namespace mtf::detail {

/// What an operation's sharding rule derives from the shardings of its N operands. An operation that needs more has
/// a class derived from this. Nodes on the tape point to it: it must outlive the tape (see `work_of`).
template <std::size_t N, std::size_t Results = 1>
struct operation_work {
  std::array<sharding, N> in{};
  sharding out;                                 // of the result, or of the first one
  std::array<sharding, Results - 1> further{};  // of the others
  std::array<axis_mask, N> complete{};          // axes over which each operand is reduced first
  axis_mask gradient_may_be_partial = ~0U;      // axes over which the gradient of the result may arrive partial
  std::array<axis_mask, N> gradient_sums{};     // axes over which each operand's gradient is partial besides
};

// An operation is a small value with (see is_operation)
//   name()               what plans and profiles call it
//   work                 a pointer to what its rule derived, an operation_work
//   kept                 how many buffers its backward pass needs (0: none are kept)
//   forward(f)           computes the shard of the result: f is a forward_pass
//   backward(g)          from the result's gradient to those of the operands: g is a backward_pass
//   uses_up              if it says so: its first operand may become the result, f.y_from_x()
// Where it has several results, R below is the list of their element types, in place of one.

template <class R>
struct results_of {
  using elements = list<R>;
  template <class Backend>
  using values = value<Backend, R>;
  template <class Backend>
  using slots = std::tuple<slot_t<Backend, R>>;
};
template <class... R>
struct results_of<list<R...>> {
  using elements = list<R...>;
  template <class Backend>
  using values = std::tuple<value<Backend, R>...>;
  template <class Backend>
  using slots = std::tuple<slot_t<Backend, R>...>;
};
template <class R>
inline constexpr std::size_t result_count = results_of<R>::elements::size;
/// The element type of the I-th result.
template <std::size_t I, class R>
using result_element = typename results_of<R>::elements::template at<I>;
/// What `run` returns: a value, or a tuple of them.
template <class Backend, class R>
using results = typename results_of<R>::template values<Backend>;

template <std::size_t I, class Work>
constexpr sharding const& sharding_of_result(Work const& work) {
  if constexpr (I == 0)
    return work.out;
  else
    return work.further[I - 1];
}

/// An operation's forward pass. The operands x<I>() are reduced already, as the work says.
template <class Operation, class Backend, class R, class... T>
struct forward_pass {
  Backend& backend;
  decltype(*std::declval<Operation>().work) work;
  std::tuple<value<Backend, T>...> in;
  buffer<Backend> out{};
  std::array<buffer<Backend>, result_count<R> - 1> further{};
  std::array<buffer<Backend>, Operation::kept> kept{};

  template <std::size_t I = 0>
  [[nodiscard]] constexpr auto const* x() const {
    return std::get<I>(in).data();
  }
  template <std::size_t I = 0>
  [[nodiscard]] constexpr buffer<Backend> const& memory() const {
    return std::get<I>(in).memory;
  }
  /// The memory of the I-th result.
  template <std::size_t I = 0>
  [[nodiscard]] constexpr buffer<Backend>& result() {
    if constexpr (I == 0)
      return out;
    else
      return further[I - 1];
  }
  /// The same, made when first asked for, unless the operation brings its own.
  template <std::size_t I = 0>
  constexpr result_element<I, R>* y() {
    using E = result_element<I, R>;
    auto& memory = result<I>();
    if (!memory) memory = make_buffer<E>(backend, sharding_of_result<I>(work).local_size(mesh()));
    return data_of<E>(memory);
  }
  /// The first operand with its elements, as the result: its own memory if it may be used up and nobody else holds it,
  /// else a copy.
  constexpr result_element<0, R>* y_from_x() {
    auto& memory = std::get<0>(in).memory;
    if (!memory.unique()) memory = copy_of<nth<0, T...>>(memory, work.in[0].local_size(mesh()));
    memory->sum.forget();
    out = memory;
    return data_of<result_element<0, R>>(out);
  }
  /// What the operation wrote into the pads of its results becomes 0. (Where a result has an operand's memory, it is.)
  constexpr void zero_pads_of_results() const {
    zero_pads(backend, work.out, out, sizeof(result_element<0, R>));
    if constexpr (result_count<R> > 1) zero_pads_of_further(std::make_index_sequence<result_count<R> - 1>{});
  }
  template <class P>
  constexpr void run(P const& primitive) const {
    backend.run(primitive);
  }
  [[nodiscard]] constexpr mesh_shape const& mesh() const { return backend.ranks().mesh(); }
  [[nodiscard]] constexpr int rank() const { return backend.ranks().rank(); }

 private:
  template <std::size_t... I>
  constexpr void zero_pads_of_further(std::index_sequence<I...>) const {
    (zero_pads(backend, work.further[I], further[I], sizeof(result_element<I + 1, R>)), ...);
  }
};

/// The gradients of an operation's results, as one rank has them: all partial over the same axes, `first.partial`. Of
/// several results some may have none.
template <class Backend, class R>
struct cotangents {
  cotangent<Backend> first{};
  std::array<cotangent<Backend>, result_count<R> - 1> further{};

  template <std::size_t I>
  [[nodiscard]] constexpr auto& at() {
    if constexpr (I == 0)
      return first;
    else
      return further[I - 1];
  }
};

/// An operation's backward pass: from `g`, the gradient of its result, to dx<I>(), the gradients of its operands.
template <class Operation, class Backend, class R, class... T>
class backward_pass {
 public:
  using slots = std::tuple<slot_t<Backend, T>...>;
  Backend& backend;
  decltype(*std::declval<Operation>().work) work;
  std::array<buffer<Backend>, Operation::kept>& kept;
  cotangent<Backend>& g;

  constexpr backward_pass(Backend& b, Operation const& o, std::array<buffer<Backend>, Operation::kept>& k,
                          cotangents<Backend, R>& gradients, slots const& s)
      : backend(b), work(*o.work), kept(k), g(gradients.first), gradients_(gradients), slots_(s) {}

  /// Has the I-th result a gradient? One alone always has.
  template <std::size_t I = 0>
  [[nodiscard]] constexpr bool arrived() const {
    return static_cast<bool>(gradients_.template at<I>().memory);
  }
  /// The gradient of the I-th result, if it has one.
  template <std::size_t I = 0>
  [[nodiscard]] constexpr result_element<I, R> const* dy() const {
    auto const& memory = gradients_.template at<I>().memory;
    if constexpr (result_count<R> > 1)
      if (!memory) return nullptr;
    return data_of<result_element<I, R>>(memory);
  }
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
      zero_pads(backend, work.in[I], memory, sizeof(nth<I, T...>));
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

  cotangents<Backend, R>& gradients_;
  slots const& slots_;
  std::array<buffer<Backend>, sizeof...(T)> dx_{};
  std::array<bool, sizeof...(T)> adds_{};
};

template <class... R>
constexpr bool any_floating(list<R...> const*) {
  return (is_floating<R> || ...);
}
/// Whether any of an operation's results has a gradient.
template <class R>
inline constexpr bool any_result_floating = any_floating(static_cast<typename results_of<R>::elements const*>(nullptr));

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
        !any_result_floating<R> || !(is_floating<typename X::element_type> || ...) ||
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

}  // namespace mtf::detail
