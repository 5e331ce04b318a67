#pragma once
// Reverse mode: operations on tracked values leave nodes; running them backwards collects gradients in slots. The axes
// over which a gradient is partial are run-time values, on a trace as well (docs/design/states.md, "Gradients know
// their partial axes at run time").
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/tape/completion.hpp>
#include <mtf/detail/tape/contributions.hpp>
#include <mtf/detail/tape/cotangent.hpp>

namespace mtf::detail {

/// An entry of a tape. `recorded` is its only derived class, and there is no virtual destructor: see
/// mtf/backend/ref.hpp.
class node {
 public:
  int references = 1;
  ref<node> before{};  // the entry before it on the tape
  constexpr virtual void run() = 0;
  constexpr virtual void unreferenced() = 0;

 protected:
  constexpr ~node() = default;
};
/// The entry with the body that `make(out...)` returns: an object with run().
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

/// A slot's way to its tape. Slots outlive the tape if the user's function keeps a tensor.
template <class Backend>
struct tape_place final : kept_by<Backend> {
  int references = 1;
  Backend* backend;
  tape<Backend>* tape_;  // null: the tape has ended, and its tensors are constants now

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
      "value_and_grad inside a function that is being differentiated: gradients of gradients are not computed. Where "
      "the "
      "inner gradient is meant as a constant, give it mtf::stop_gradient(x) of what the outer function differentiates");
}

/// The nodes of one program, and the gradients that it is run for.
template <class Backend>
class tape {
 public:
  /// `completes`: each parameter's gradient is reduced as soon as it is final, while others are still computed.
  constexpr explicit tape(Backend& b, bool completes = false)
      : backend_(&b), completes_(completes), place_(make_ref<tape_place<Backend>>(b, b, *this)), completion_(b) {
    b.layouts().begin_tape();
  }
  tape(tape const&) = delete;
  tape& operator=(tape const&) = delete;
  constexpr ~tape() {
    for (auto& p : parameters_)  // after an error, or kept by the user's function
      if (p.index != nullptr) *p.index = -1;
    while (last_) take_last();
    place_->tape_ = nullptr;
    backend_->layouts().end_tape();
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
  /// Runs all nodes, last first. Each is freed, with what it kept, as soon as it is done.
  constexpr void run() {
    during<Backend> const backward(*backend_, pass::backward);
    while (last_) take_last()->run();
    completion_.finish();
  }

  /// Nothing is recorded meanwhile.
  [[nodiscard]] constexpr bool is_paused() const { return paused_; }
  /// Returns what it was before.
  constexpr bool pause(bool now) { return std::exchange(paused_, now); }

  /// A new slot for the gradient of the next parameter. The gradient is final when the last reference to the slot is
  /// dropped. `split`: the axes along which each rank needs only its part of the gradient (split_further). `widens`: it
  /// is handed out in the type that T is computed in.
  template <class T>
  constexpr ref<gradient_slot<Backend, T>> parameter(sharding const& where, axis_mask split, parameter_path const& name,
                                                     bool widens = false) {
    auto const slot = make_ref<gradient_slot<Backend, T>>(*backend_, *this, where);
    slot->parameter = static_cast<int>(parameters_.size());
    slot->sum_in_compute_type();
    parameters_.push_back({.index = &slot->parameter, .split = split, .name = name, .widens = widens});
    if constexpr (!Backend::holds_data) parameters_.back().times = backend_->times();
    return slot;
  }
  /// The gradient of the parameter that was made last begins with this, in the type that it is computed in.
  constexpr void begin_last_with(cotangent<Backend>&& g) { parameters_.back().before = std::move(g); }
  /// The i-th parameter's gradient is final: its slot calls this.
  template <class T>
  constexpr void is_final(int i, contributions<Backend, T>& sum) {
    auto& p = parameters_[static_cast<std::size_t>(i)];
    p.index = nullptr;
    using A = compute_t<T>;
    if constexpr (!std::is_same_v<A, T>) {
      if (p.widens || p.before.memory) {
        {
          operation<Backend> const here(*backend_, {"gradient", p.name}, sum.where());
          p.g = sum.template together<A>();
          if (p.before.memory) p.g = with_before<T>(p, sum.where());
        }
        if (!completes_) return;
        if (p.widens)
          completion_.template add<A>(p.g, sum.where(), p.split, p.name);
        else
          completion_.template add<T>(p.g, sum.where(), p.split, p.name);
        return;
      }
    }
    p.g = sum.together();
    if (completes_) completion_.template add<T>(p.g, sum.where(), p.split, p.name);
  }
  /// The gradient of the i-th parameter. `slot` is read only if the gradient is not final, that is if the user's
  /// function keeps the tensor.
  template <class T>
  constexpr cotangent<Backend> const& gradient(std::size_t i, gradient_slot<Backend, T>* slot) {
    auto& p = parameters_[i];
    if (p.index != nullptr) slot->finalize();
    completion_.finish();
    return p.g;
  }
  [[nodiscard]] constexpr parameter_path const& name_of(int parameter) const {
    return parameters_[static_cast<std::size_t>(parameter)].name;
  }
  /// On a trace: for how many equal layers' parameters this one stands.
  [[nodiscard]] constexpr std::uint64_t stands_for(int parameter) const {
    return parameters_[static_cast<std::size_t>(parameter)].times;
  }
  [[nodiscard]] constexpr Backend& backend() const { return *backend_; }

 private:
  struct parameter_gradient {
    int* index;  // in the slot; null: the gradient is final
    axis_mask split;
    parameter_path name;
    bool widens;
    std::uint64_t times = 1;  // stands_for
    cotangent<Backend> g{};
    cotangent<Backend> before{};  // of earlier batches, where T is not what it is computed in
  };
  /// The gradient with that of earlier batches: in the type that T is computed in if it widens, else rounded to T once.
  template <class T>
  constexpr cotangent<Backend> with_before(parameter_gradient& p, sharding const& where) {
    using A = compute_t<T>;
    contributions<Backend, A> both(*backend_, where);
    both.add(std::exchange(p.before, {}));
    if (p.g.memory) both.add(std::move(p.g));
    auto all = both.together();
    if (p.widens) return all;
    index const n = where.local_size(backend_->ranks().mesh());
    auto rounded = make_buffer<T>(*backend_, n);
    backend_->run(primitives::copy<T, A>{
        {.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}}, data_of<T>(rounded), data_of<A>(all.memory)});
    all.memory = std::move(rounded);
    return all;
  }
  constexpr ref<node> take_last() {
    auto last = std::move(last_);
    last_ = std::move(last->before);
    return last;
  }

  Backend* backend_;
  bool completes_, paused_ = false;
  ref<tape_place<Backend>> place_;
  std::vector<parameter_gradient> parameters_;
  completion<Backend> completion_;
  ref<node> last_{};
};

}  // namespace mtf::detail
