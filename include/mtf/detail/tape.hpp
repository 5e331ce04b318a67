#pragma once
// Reverse mode: operations on tracked values leave nodes; running them backwards collects gradients in slots.
// A gradient's partial axes are a run-time value, known to whoever runs the program, the tracing backend included: they
// depend on all uses of a tensor together, not on one operation (docs/design.md, 9).
#include <utility>
#include <vector>

#include <mtf/detail/completion.hpp>

namespace mtf::detail {

/// Something on a tape. The hierarchy is made of these two alone, for the reason that `kept` gives.
class node {
 public:
  int references = 1;
  constexpr virtual void run() = 0;
  constexpr virtual void unreferenced() = 0;

 protected:
  constexpr ~node() = default;
};
template <class Body>
class recorded final : public node {
 public:
  template <class Make, class Slot>
  constexpr recorded(Make const& make, Slot const& out) : body_(make(out)) {}
  constexpr void run() override { body_.run(); }
  constexpr void unreferenced() override { delete this; }

 private:
  Body body_;
};

template <class Backend, class T>
class gradient_slot;

/// The nodes of one program, and the gradients that it is run for.
template <class Backend>
class tape {
 public:
  /// `completes`: gradients are completed as soon as nothing more is added to them, while the others are computed.
  constexpr explicit tape(Backend& b, bool completes = false) : backend_(&b), completes_(completes), completion_(b) {}
  constexpr void push(ref<node>&& n) { nodes_.push_back(std::move(n)); }
  /// Runs all nodes, last first, and frees each with what it kept as soon as it is done.
  constexpr void run() {
    during<Backend> const backward(*backend_, pass::backward);
    while (!nodes_.empty()) {
      auto last = std::move(nodes_.back());
      nodes_.pop_back();
      last->run();
    }
    completion_.finish();
  }

  /// A new slot for the gradient of a parameter: it is final when only the tape knows the slot.
  template <class T>
  constexpr ref<gradient_slot<Backend, T>> parameter(sharding const& where, std::array<char const*, 3> const& name) {
    auto const slot = make_ref<gradient_slot<Backend, T>>(*backend_, *this, where);
    slot->parameter = static_cast<int>(parameters_.size());
    parameters_.push_back({.slot = slot.get(), .name = name});
    return slot;
  }
  /// The gradient of the i-th parameter.
  template <class T>
  constexpr cotangent<Backend> const& gradient(std::size_t i) {
    auto& p = parameters_[i];
    if (p.slot != nullptr) finalize(*static_cast<gradient_slot<Backend, T>*>(p.slot));  // the user's function kept the tensor
    completion_.finish();
    return p.g;
  }
  template <class T>
  constexpr void finalize(gradient_slot<Backend, T>& slot) {
    auto& p = parameters_[static_cast<std::size_t>(slot.parameter)];
    slot.parameter = -1;
    p.slot = nullptr;
    p.g = slot.take();
    if (completes_) completion_.template add<T>(p.g, slot.where(), p.name);
  }
  [[nodiscard]] constexpr Backend& backend() const { return *backend_; }

 private:
  struct parameter_gradient {
    void* slot;  // null: the gradient is final
    std::array<char const*, 3> name;
    cotangent<Backend> g{};
  };

  Backend* backend_;
  bool completes_;
  std::vector<parameter_gradient> parameters_;
  completion<Backend> completion_;
  std::vector<ref<node>> nodes_;
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
  constexpr gradient_slot(tape<Backend>& owner, sharding const& where) : owner_(&owner), where_(&where) {}
  constexpr void unreferenced() {
    if (parameter >= 0) owner_->finalize(*this);
    if constexpr (Backend::holds_data)
      delete this;
    else
      entries_.clear();
  }
  constexpr void let_go() { entries_.clear(); }
  constexpr void destroy() { delete this; }

  [[nodiscard]] constexpr tape<Backend>& owner() const { return *owner_; }
  [[nodiscard]] constexpr sharding const& where() const { return *where_; }
  [[nodiscard]] constexpr std::vector<cotangent<Backend>> const& entries() const { return entries_; }

  constexpr void add(cotangent<Backend>&& g) {
    for (auto& entry : entries_)
      if (entry.partial == g.partial) {
        accumulate(entry.memory, std::move(g.memory));
        return;
      }
    entries_.push_back(std::move(g));
  }

  /// Memory to which a contribution that is partial over these axes may be added in place; empty if there is none yet, or
  /// it is someone else's too.
  constexpr buffer<Backend> accumulator(axis_mask partial) {
    for (auto& entry : entries_)
      if (entry.partial == partial && entry.memory.unique()) {
        entry.memory->completed = {};
        entry.memory->completed_axes = 0;
        return entry.memory;
      }
    return {};
  }

  /// The whole gradient, partial at most over `may_be_partial`; empty memory if nothing flowed here. Leaves zero.
  constexpr cotangent<Backend> take(axis_mask may_be_partial = ~0U) {
    cotangent<Backend> sum;
    if (entries_.empty()) return sum;
    sum.partial = may_be_partial;
    for (auto const& e : entries_) sum.partial &= e.partial;
    for (auto& e : entries_) {
      auto part = completed<T>(*where_, e.partial & ~sum.partial, std::exchange(e.memory, {}));
      if (sum.memory)
        accumulate(sum.memory, std::move(part));
      else
        sum.memory = std::move(part);
    }
    entries_.clear();
    return sum;
  }

 private:
  constexpr void accumulate(buffer<Backend>& into, buffer<Backend>&& x) {
    Backend& b = owner_->backend();
    auto const n = where_->local_size(b.ranks().mesh());
    if (!into.unique() && x.unique()) std::swap(into, x);
    if (!into.unique()) {  // the same memory is someone else's gradient too
      auto copy = make_buffer<T>(b, n);
      loops<2> flat{.rank = 1, .extent = {n}, .stride = {extents{1}, extents{1}}};
      b.copy(flat, data_of<T>(copy), static_cast<T const*>(data_of<T>(into)));
      into = std::move(copy);
    }
    into->completed = {};
    into->completed_axes = 0;
    b.add(n, data_of<T>(into), static_cast<T const*>(data_of<T>(x)));
  }

  tape<Backend>* owner_;
  sharding const* where_;
  std::vector<cotangent<Backend>> entries_;
};

/// The tape on which an operation with these operands is recorded; null if none is tracked.
template <class Backend, class... T>
constexpr tape<Backend>* tape_of(value<Backend, T> const&... x) {
  tape<Backend>* t = nullptr;
  ((t = x.slot ? &x.slot->owner() : t), ...);
  return t;
}

/// Gives `out` a slot and records the node that `make(slot)` returns, if one of the operands is tracked.
template <class Backend, class T, class Make>
constexpr void record(tape<Backend>* t, value<Backend, T>& out, sharding const& where, Make make) {
  if (t == nullptr) return;
  out.slot = make_ref<gradient_slot<Backend, T>>(t->backend(), *t, where);
  t->push(ref<node>(new recorded<decltype(make(out.slot))>(make, out.slot)));
}

/// A value whose sum over `axes` is taken. It is the same logical tensor, so it shares the gradient's slot.
template <class Backend, class T>
constexpr value<Backend, T> completed_value(value<Backend, T> const& x, sharding const& s, axis_mask axes) {
  if (axes == 0) return x;
  return value<Backend, T>(completed<T>(s, axes, x.memory), x.slot);
}

}  // namespace mtf::detail
