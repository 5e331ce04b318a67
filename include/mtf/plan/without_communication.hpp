#pragma once
// Scopes in which nothing may be sent.
#include <type_traits>

#include <mtf/backend/ref.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/stack.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// A function inside without_communication communicates; this is its first collective.
template <auto Collective, class Over, auto Pass>
struct error_communicates : detail::failed {};

namespace detail {

template <auto C, class O, auto P, class... By>
struct require<error_communicates<C, O, P>, By...> {
  static_assert(
      never<O>,
      MTF_SENTENCE("mtf: a function inside without_communication communicates; error_communicates<collective, axes, "
                   "pass> is the first that it would do",
                   O));
};

}  // namespace detail

/// Axes, in an error.
template <mesh_axis... Axes>
struct over {};

namespace detail {

/// The type of the same tensor, or structure of tensors, without data.
template <class X>
struct untouched {
  using type = X;
};
template <class T, class S, class L, class P, class B>
struct untouched<tensor<T, S, L, P, B>> {
  using type = tensor<T, S, L, P, trace>;
};
template <template <class...> class Tensor>
struct untouched_place {
  template <class... D>
  using tensor = typename untouched<Tensor<D...>>::type;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct untouched<Structure<Tensor>> {
  using type = Structure<untouched_place<Tensor>::template tensor>;
};

template <class X>
struct mesh_in {
  using type = void;
};
template <tensor_type X>
struct mesh_in<X> {
  using type = typename X::mesh_type;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct mesh_in<Structure<Tensor>> {
  // All tensors of a structure are on one mesh, and a tensor without dimensions has it.
  using type = typename Tensor<>::mesh_type;
};
template <class... M>
struct first_mesh {
  using type = mesh<>;
};
template <class M, class... Rest>
struct first_mesh<M, Rest...> : std::conditional_t<std::is_void_v<M>, first_mesh<Rest...>, std::type_identity<M>> {};

/// An argument without data whose gradients are asked for.
template <class X>
struct watched {
  X value{};
  constexpr watched(trace& b, tape<trace>& t) {
    if constexpr (tensor_type<X> || fields<X>) {
      auto const fill = [&](path const&, auto& x) {
        using Y = std::remove_cvref_t<decltype(x)>;
        using T = typename Y::element_type;
        x = zeros<Y>(b);
        if constexpr (is_floating<T>)
          x = Y(detail::value<trace, T>(x.value().memory, make_ref<gradient_slot<trace, T>>(b, t, Y::spec)));
      };
      walk_tensors(b, fill, value);
    }
  }
};

template <class F, class... X>
class quiet_program {
  using mesh_type = typename first_mesh<typename mesh_in<X>::type...>::type;
  using tape_type =
      tape<std::conditional_t<true, trace, F>>;  // not before it is needed: including this header is to be cheap

  static constexpr planned_collective first_sent() {
    trace b(mesh_type::shape());
    tape_type t(b);
    run(t, watched<typename untouched<X>::type>(b, t).value...);
    return b.planned().empty() ? planned_collective{} : b.planned()[0];
  }
  static constexpr void run(tape_type& t, auto const&... x) {
    auto const out = F{}(x...);
    if constexpr (tensor_type<std::remove_cvref_t<decltype(out)>>)
      if (out.value().slot) {
        out.value().slot->add({out.value().memory, 0});  // the gradient comes complete
        t.run();
      }
  }
  static constexpr planned_collective what_the_function_sends = first_sent();
  template <class... A>
  static auto named(partial<A...>) -> over<A...>;
  static auto find() {
    if constexpr (!callable_t<F, X const&...>::value)
      return callable_t<F, X const&...>{};
    else if constexpr (!requires { typename std::bool_constant<what_the_function_sends.axes == 0>; })
      return ok{};  // the compiler has said why not
    else if constexpr (what_the_function_sends.axes == 0)
      return ok{};
    else
      return error_communicates<what_the_function_sends.kind,
                                decltype(named(partial_of<mesh_type, what_the_function_sends.axes>{})),
                                what_the_function_sends.when>{};
  }

 public:
  using verdict = decltype(find());
};

}  // namespace detail

/// A function that calls f and must not communicate: neither forward nor, given a reduced gradient of its result,
/// backward (its arguments' gradients may come out partial). Checked by the compiler, which runs f on tensors without
/// data. f is a function object without state; its arguments are tensors, structures of tensors, or values whose
/// default serves the check. Refused: an f that communicates, or captures, or does not take its arguments.
template <class F>
constexpr auto without_communication(F f) {
  using verdict1 = detail::captures_nothing_t<F>;
  if constexpr (!verdict1::value) {
    detail::require<verdict1>{};
    return [](auto const&...) { return refused{}; };
  } else {
    return [f]<class... X>(X const&... x) {
      using verdict2 = typename detail::quiet_program<F, X...>::verdict;
      if constexpr (!verdict2::value) {
        detail::require<verdict2>{};
        return refused{};
      } else {
        return f(x...);
      }
    };
  }
}

}  // namespace mtf
