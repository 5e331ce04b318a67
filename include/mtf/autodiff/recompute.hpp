#pragma once
// Activation checkpointing: what a part of a program keeps for the backward pass is computed again there.
#include <tuple>
#include <type_traits>

#include <mtf/backend/ref.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/structure_slots.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/stack.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// A function given to recompute captures something.
template <class Function>
struct error_recomputed_captures : detail::failed {};
/// A function given to recompute returns neither a tensor nor a structure of tensors.
template <class Result>
struct error_recomputed_is_not_tensor : detail::failed {};

namespace detail {

template <class F, class... By>
struct require<error_recomputed_captures<F>, By...> {
  static_assert(never<F>,
                MTF_SENTENCE("mtf: recompute calls its function again in the backward pass, when what it captured may "
                             "be gone: it must capture nothing; pass what it needs as arguments",
                             F));
};
template <class R, class... By>
struct require<error_recomputed_is_not_tensor<R>, By...> {
  static_assert(never<R>, MTF_SENTENCE("mtf: recompute needs a function that returns a tensor, or several as a "
                                       "structure with MTF_FIELDS",
                                       R));
};

/// As long as it lives, nothing is recorded.
template <class Backend>
class pausing {
 public:
  constexpr explicit pausing(tape<Backend>& t) : tape_(&t), before_(t.pause(true)) {}
  constexpr ~pausing() { tape_->pause(before_); }
  pausing(pausing const&) = delete;
  pausing& operator=(pausing const&) = delete;

 private:
  tape<Backend>* tape_;
  bool before_;
};

/// The tape on which the tensors of an argument are recorded, if there is one: of a tensor, of a structure or an array
/// of these. Anything else has none.
template <class Backend, class A>
constexpr tape<Backend>* tape_of_argument([[maybe_unused]] A const& a) {
  tape<Backend>* t = nullptr;
  if constexpr (tensor_type<A> || fields<A> || are_layers<A>) {
    auto const find = [&](path const&, auto const& x) {
      if constexpr (tensor_type<std::remove_cvref_t<decltype(x)>>) {
        if (x.empty()) return;
        auto* const by = tape_of(x.value());
        if (by != nullptr && t != nullptr && by != t) gradient_of_a_gradient();
        if (by != nullptr) t = by;
      }
    };
    walk(static_cast<void*>(nullptr), find, nullptr, a);
  }
  return t;
}

/// A call on the tape, of which only the arguments are kept. It runs backwards by running forwards, now recorded: the
/// nodes of f's operations come onto the tape in its place, and run next. So the order of all contributions to
/// gradients is as if f had been recorded at once, and a parameter's gradient is not final before they have run.
template <class F, class Backend, class... Args>
class recomputed {
 public:
  constexpr recomputed(F const& f, structure_slots<Backend> const& out, Args const&... args)
      : f_(f), out_(out), args_(args...) {}
  constexpr void run() {
    bool wanted = false;
    out_.each([&](auto const& slot) { slot->each([&](auto const&) { wanted = true; }); });
    if (!wanted) return;
    auto const again = std::apply(f_, args_);
    typename structure_slots<Backend>::reader slots(out_);
    each_tensor(
        [&](auto const& x) {
          using T = typename std::remove_cvref_t<decltype(x)>::element_type;
          if constexpr (is_floating<T>) {
            auto const& to = x.value().slot;
            auto const& from = slots.template next<T>();
            if (to && to->living() == &from->owner()) from->move_to(*to);
          }
        },
        again);
  }

 private:
  F f_;
  structure_slots<Backend> out_;
  std::tuple<Args...> args_;
};

/// The same tensors, not tracked.
template <class X>
constexpr X untracked(X const& tracked) {
  X x = tracked;
  each_tensor(
      [](auto& tensor) {
        using found = std::remove_cvref_t<decltype(tensor)>;
        tensor = like(tensor, value<typename found::backend_type, typename found::element_type>(tensor.value().memory));
      },
      x);
  return x;
}
/// Gives each tensor of floating elements a slot on the tape; returns these.
template <class Backend, class X>
constexpr structure_slots<Backend> tracked(tape<Backend>& on, X& x) {
  structure_slots<Backend> slots;
  each_tensor(
      [&](auto& tensor) {
        using T = typename std::remove_cvref_t<decltype(tensor)>::element_type;
        if constexpr (is_floating<T>) {
          auto const slot = backend::make_ref<gradient_slot<Backend, T>>(tensor.backend(), on, place_of(tensor).spec());
          slots.push(slot);
          tensor = like(tensor, value<Backend, T>(tensor.value().memory, slot));
        }
      },
      x);
  return slots;
}

}  // namespace detail

/// f(args...), of which only the arguments are kept for the backward pass, not what f's operations would keep: the
/// backward pass calls f a second time. So the memory of activations of a stack of layers is one tensor a layer, and
/// that of one layer, and a step computes its forward pass twice (Chen et al. 2016). Values and gradients are the same
/// to the bit; random numbers too, as they are functions of keys. f returns a tensor, or a structure of tensors
/// (MTF_FIELDS). Of `args` tensors and structures of tensors get gradients, as without it; what else is among them is
/// kept by value.
///
/// Sends what f sends, and in the backward pass once more before what f sends backwards. (Only the sum of an argument
/// that is partial is remembered with it.) Around another recompute it is right too: the inner function then runs three
/// times.
///
/// Refused: a function that captures, since what it refers to may be gone in the backward pass; other arguments than it
/// takes; a result that is neither a tensor nor a structure of them. Where nothing is differentiated it is the call.
template <class F, class... Args>
constexpr auto recompute(F const& f, Args const&... args) {
  if constexpr (!detail::callable_t<F, Args const&...>::value) {
    detail::require<detail::callable_t<F, Args const&...>>{};
    return refused{};
  } else if constexpr (!std::is_empty_v<F>) {
    detail::require<error_recomputed_captures<F>>{};
    return refused{};
  } else {
    using X = std::remove_cvref_t<decltype(f(args...))>;
    if constexpr (std::is_same_v<X, refused>) {
      return refused{};
    } else if constexpr (!tensor_type<X> && (!detail::fields<X> || std::is_void_v<detail::backend_in_t<X>>)) {
      detail::require<error_recomputed_is_not_tensor<X>>{};
      return refused{};
    } else {
      using backend_type = detail::backend_in_t<X>;
      detail::tape<backend_type>* on = nullptr;
      auto const look = [&](auto* t) {
        if (t != nullptr && on != nullptr && t != on) detail::gradient_of_a_gradient();
        if (t != nullptr) on = t;
      };
      (look(detail::tape_of_argument<backend_type>(args)), ...);
      if (on == nullptr) return f(args...);
      auto result = [&] {
        detail::pausing<backend_type> const forward(*on);
        return detail::untracked(f(args...));
      }();
      auto const slots = detail::tracked(*on, result);
      on->push([&] { return detail::recomputed<F, backend_type, Args...>(f, slots, args...); });
      return result;
    }
  }
}

}  // namespace mtf
