#pragma once
// Reverse mode: operations on tracked values leave nodes; running them backwards collects gradients in slots.
// A gradient's partial axes are a run-time value, known to whoever runs the program, the tracing backend included: they
// depend on all uses of a tensor together, not on one operation (docs/design.md, 9).
#include <utility>
#include <vector>

#include <mtf/detail/tape/completion.hpp>
#include <mtf/core/error.hpp>

namespace mtf::detail {

/// Something on a tape. The hierarchy is made of these two alone, for the reason that `kept` gives.
class node {
 public:
  int references = 1;
  ref<node> before{};  // on the tape
  constexpr virtual void run() = 0;
  constexpr virtual void unreferenced() = 0;

 protected:
  constexpr ~node() = default;
};
template <class Backend, class Body>
class recorded final : public node {
 public:
  template <class Make, class... Slot>
  constexpr recorded(Backend& b, Make const& make, Slot const&... out) : backend_(&b), body_(make(out...)) {}
  constexpr void run() override { body_.run(); }
  constexpr void unreferenced() override { destroy_object(*backend_, this); }

 private:
  Backend* backend_;
  Body body_;
};

template <class Backend, class T>
class gradient_slot;
template <class Backend>
class tape;

/// Where a tape is, until it ends: slots outlive it where the user's function kept a tensor.
template <class Backend>
struct tape_place final : kept_by<Backend> {
  int references = 1;
  Backend* backend;
  tape<Backend>* tape_;  // null: it ended, and what its tensors had to do with it

  constexpr tape_place(Backend& b, tape<Backend>& t) : backend(&b), tape_(&t) {}
  constexpr void unreferenced() {
    if constexpr (Backend::holds_data) destroy_object(*backend, this);
  }
  constexpr void let_go() {}
  constexpr void destroy() { delete this; }
};

// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void gradient_of_a_gradient() {
  throw user_error(
      "value_and_grad inside a function that is being differentiated: gradients of gradients are not computed. Where the "
      "inner gradient is meant as a constant, give it mtf::stop_gradient(x) of what the outer function differentiates");
}

/// The nodes of one program, and the gradients that it is run for.
template <class Backend>
class tape {
 public:
  /// `completes`: gradients are completed as soon as nothing more is added to them, while the others are computed.
  constexpr explicit tape(Backend& b, bool completes = false)
      : backend_(&b), completes_(completes), place_(make_ref<tape_place<Backend>>(b, b, *this)), completion_(b) {}
  tape(tape const&) = delete;
  tape& operator=(tape const&) = delete;
  constexpr ~tape() {
    for (auto& p : parameters_)  // after an error, or kept by the user's function
      if (p.index != nullptr) *p.index = -1;
    while (last_) take_last();
    place_->tape_ = nullptr;
  }
  [[nodiscard]] constexpr ref<tape_place<Backend>> const& place() const { return place_; }
  /// A node with the body make(out...).
  template <class Make, class... Slot>
  constexpr void push(Make const& make, Slot const&... out) {
    using made = recorded<Backend, decltype(make(out...))>;
    ref<node> n(make_object<made>(*backend_, *backend_, make, out...));
    n->before = std::move(last_);
    last_ = std::move(n);
  }
  /// Runs all nodes, last first, and frees each with what it kept as soon as it is done.
  constexpr void run() {
    during<Backend> const backward(*backend_, pass::backward);
    while (last_) take_last()->run();
    completion_.finish();
  }

  /// A new slot for the gradient of a parameter, the next in line: it is final when nobody knows the slot any more.
  /// `cut`: the axes along which each rank needs its part of it alone (cut_further).
  template <class T>
  constexpr ref<gradient_slot<Backend, T>> parameter(sharding const& where, axis_mask cut,
                                                     std::array<char const*, 3> const& name) {
    auto const slot = make_ref<gradient_slot<Backend, T>>(*backend_, *this, where);
    slot->parameter = static_cast<int>(parameters_.size());
    parameters_.push_back({.index = &slot->parameter, .cut = cut, .name = name});
    return slot;
  }
  /// Told by its slot.
  template <class T>
  constexpr void is_final(int i, cotangent<Backend>&& g, sharding const& where) {
    auto& p = parameters_[static_cast<std::size_t>(i)];
    p.index = nullptr;
    p.g = std::move(g);
    if (completes_) completion_.template add<T>(p.g, where, p.cut, p.name);
  }
  /// The gradient of the i-th parameter, whose slot this was or is: the user's function may have kept the tensor.
  template <class T>
  constexpr cotangent<Backend> const& gradient(std::size_t i, gradient_slot<Backend, T>* slot) {
    auto& p = parameters_[i];
    if (p.index != nullptr) slot->finalize();
    completion_.finish();
    return p.g;
  }
  [[nodiscard]] constexpr Backend& backend() const { return *backend_; }

 private:
  struct parameter_gradient {
    int* index;  // in the slot; null: the gradient is final
    axis_mask cut;
    std::array<char const*, 3> name;
    cotangent<Backend> g{};
  };
  constexpr ref<node> take_last() {
    auto last = std::move(last_);
    last_ = std::move(last->before);
    return last;
  }

  Backend* backend_;
  bool completes_;
  ref<tape_place<Backend>> place_;
  std::vector<parameter_gradient> parameters_;
  completion<Backend> completion_;
  ref<node> last_{};
};

/// Collects the gradient of one tensor. Contributions that are partial over the same axes are added before anything is
/// sent: gradients of a tensor that is used often are completed once.
template <class Backend, class T>
class gradient_slot final : public kept_by<Backend> {
 public:
  int references = 1;
  int parameter = -1;  // which one of the tape it belongs to

  /// `where`: the tensor's sharding; its partial axes are of no concern here. It must outlive the slot: operations pass
  /// constants.
  constexpr gradient_slot(tape<Backend>& owner, sharding const& where)
      : backend_(&owner.backend()), owner_(owner.place()), where_(&where) {}
  constexpr void unreferenced() {
    if (parameter >= 0) finalize();
    if constexpr (Backend::holds_data)
      destroy_object(*backend_, this);
    else
      clear();
  }
  /// Nothing more is added: hands the gradient to the tape.
  constexpr void finalize() {
    owner().template is_final<T>(std::exchange(parameter, -1), together(), *where_);
  }
  constexpr void let_go() {
    clear();
    owner_ = {};
  }
  constexpr void destroy() { delete this; }

  /// The tape; `living` is null when it ended.
  [[nodiscard]] constexpr tape<Backend>& owner() const { return *owner_->tape_; }
  [[nodiscard]] constexpr tape<Backend>* living() const { return owner_->tape_; }
  [[nodiscard]] constexpr sharding const& where() const { return *where_; }
  /// f(contribution) for each that is partial over other axes.
  template <class F>
  constexpr void each(F const& f) const {
    if (first_.memory) f(first_);
    for (auto const& g : more_) f(g);
  }

  constexpr void add(cotangent<Backend>&& g) {
    added(g.memory);
    if (!first_.memory) {
      first_ = std::move(g);
      return;
    }
    if (first_.partial == g.partial) return accumulate(first_.memory, std::move(g.memory));
    for (auto& other : more_)
      if (other.partial == g.partial) return accumulate(other.memory, std::move(g.memory));
    more_.push_back(std::move(g));
  }

  /// Memory to which a contribution that is partial over these axes may be added in place; empty if there is none yet, or
  /// it is someone else's too. Followed by added().
  constexpr buffer<Backend> accumulator(axis_mask partial) {
    if (!first_.memory || first_.partial != partial || !first_.memory.unique()) return {};
    forget_sum(*first_.memory);
    return first_.memory;
  }

  /// Tells the backend of a contribution, or of the memory that it was added to.
  constexpr void added(buffer<Backend> const& memory) const {
    backend_->made(static_cast<T const*>(data_of<T>(memory)), *where_);
  }

  /// The whole gradient, partial at most over `may_be_partial`; empty memory if nothing flowed here. Leaves zero.
  constexpr cotangent<Backend> take(axis_mask may_be_partial = ~0U) {
    cotangent<Backend> sum;
    if (!first_.memory) return sum;
    sum.partial = may_be_partial;
    each([&](auto const& g) { sum.partial &= g.partial; });
    auto const part = [&](cotangent<Backend>& g) {
      return completed<T>(*where_, g.partial & ~sum.partial, std::exchange(g.memory, {}));
    };
    sum.memory = part(first_);
    for (auto& g : more_) accumulate(sum.memory, part(g));
    more_.clear();
    return sum;
  }

 private:
  constexpr void clear() {
    first_ = {};
    more_.clear();
  }
  /// As take(), but sums nothing between ranks: contributions that are partial over different axes become one that is
  /// partial over all of these. What is whole along some of them is there the contribution of one rank alone. So the
  /// parameter's gradient is completed once, by whom and with what others are.
  constexpr cotangent<Backend> together() {
    if (more_.empty()) return {std::exchange(first_.memory, {}), std::exchange(first_.partial, 0)};
    Backend& b = *backend_;
    cotangent<Backend> sum;
    each([&](auto const& g) { sum.partial |= g.partial; });
    auto const add_term = [&](cotangent<Backend>& g) {
      auto x = std::exchange(g.memory, {});
      if (b.ranks().mesh().index_within(b.ranks().rank(), sum.partial & ~g.partial) != 0) return;
      if (sum.memory) return accumulate(sum.memory, std::move(x));
      sum.memory = std::move(x);
      make_own(sum.memory);  // whatever is known of it: on other ranks more is added
    };
    add_term(first_);
    for (auto& g : more_) add_term(g);
    more_.clear();
    if (!sum.memory) {
      auto const n = where_->local_size(b.ranks().mesh());
      sum.memory = make_buffer<T>(b, n);
      b.fill(data_of<T>(sum.memory), n, T(0));
    }
    return sum;
  }
  /// Memory that nobody else holds, and whose sum is not known.
  constexpr void make_own(buffer<Backend>& x) {
    if (!x.unique()) x = copy_of<T>(x, where_->local_size(backend_->ranks().mesh()));
    forget_sum(*x);
  }
  static constexpr void forget_sum(block<Backend>& b) {
    b.completed = {};
    b.completed_axes = b.completed_cut = 0;
  }
  constexpr void accumulate(buffer<Backend>& into, buffer<Backend>&& x) {
    Backend& b = *backend_;
    auto const n = where_->local_size(b.ranks().mesh());
    if (!into.unique() && x.unique()) std::swap(into, x);
    make_own(into);
    b.add(n, data_of<T>(into), static_cast<T const*>(data_of<T>(x)));
    added(into);
  }

  Backend* backend_;
  ref<tape_place<Backend>> owner_;
  sharding const* where_;
  cotangent<Backend> first_;
  std::vector<cotangent<Backend>> more_;  // rarely any
};

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
