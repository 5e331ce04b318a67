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
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// A function given to recompute captures something.
template <class Function>
struct error_recomputed_captures : detail::failed {};
/// A function given to recompute does not return a tensor.
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
  static_assert(never<R>, MTF_SENTENCE("mtf: recompute needs a function that returns one tensor: recompute several "
                                       "results each by itself, or what is made of them",
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
  if constexpr (tensor_type<A> || fields<A> || is_array<A>) {
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
template <class F, class Backend, class T, class... Args>
class recomputed {
 public:
  constexpr recomputed(F const& f, ref<gradient_slot<Backend, T>> const& out, Args const&... args)
      : f_(f), out_(out), args_(args...) {}
  constexpr void run() {
    bool wanted = false;
    out_->each([&](auto const&) { wanted = true; });
    if (!wanted) return;
    auto const again = std::apply(f_, args_);
    auto const& slot = again.value().slot;
    if (slot && slot->living() == &out_->owner()) out_->move_to(*slot);
  }

 private:
  F f_;
  ref<gradient_slot<Backend, T>> out_;
  std::tuple<Args...> args_;
};

}  // namespace detail

/// f(args...), of which only the arguments are kept for the backward pass, not what f's operations would keep: the
/// backward pass calls f a second time. So the memory of activations of a stack of layers is one tensor a layer, and
/// that of one layer, and a step computes its forward pass twice (Chen et al. 2016). Values and gradients are the same
/// to the bit; random numbers too, as they are functions of keys. f returns a tensor. Of `args` tensors and structures
/// of tensors get gradients, as without it; what else is among them is kept by value.
///
/// Sends what f sends, and in the backward pass once more before what f sends backwards. (Only the sum of an argument
/// that is partial is remembered with it.) Around another recompute it is right too: the inner function then runs three
/// times.
///
/// Refused: a function that captures, since what it refers to may be gone in the backward pass; other arguments than it
/// takes; a result that is not a tensor. Where nothing is differentiated it is the call.
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
    } else if constexpr (!tensor_type<X>) {
      detail::require<error_recomputed_is_not_tensor<X>>{};
      return refused{};
    } else {
      using backend_type = typename X::backend_type;
      using T = typename X::element_type;
      if constexpr (is_floating<T>) {
        detail::tape<backend_type>* on = nullptr;
        auto const look = [&](auto* t) {
          if (t != nullptr && on != nullptr && t != on) detail::gradient_of_a_gradient();
          if (t != nullptr) on = t;
        };
        (look(detail::tape_of_argument<backend_type>(args)), ...);
        if (on != nullptr) {
          X result;
          {
            detail::pausing<backend_type> const forward(*on);
            auto const found = f(args...);
            result = detail::like(found, detail::value<backend_type, T>(found.value().memory));
          }
          auto out = backend::make_ref<detail::gradient_slot<backend_type, T>>(result.backend(), *on,
                                                                               detail::place_of(result).spec());
          on->push([&](auto const& slot) { return detail::recomputed<F, backend_type, T, Args...>(f, slot, args...); },
                   out);
          return detail::like(result, detail::value<backend_type, T>(result.value().memory, out));
        }
      }
      return f(args...);
    }
  }
}

}  // namespace mtf
