#pragma once
// Derivatives: the value of a function of parameter structures together with its gradients, in the same structures.
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/autodiff/accumulated.hpp>
#include <mtf/autodiff/as_computed.hpp>
#include <mtf/autodiff/gradient.hpp>  // IWYU pragma: keep
#include <mtf/autodiff/state_split.hpp>
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/model_types.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/stack.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// The function given to value_and_grad does not return a scalar tensor.
template <class Loss>
struct error_loss_is_not_scalar : detail::failed {};
/// Gradients are asked in something other than a structure of tensors.
template <class Given>
struct error_not_parameters : detail::failed {};

namespace detail {

template <class L, class... By>
struct require<error_loss_is_not_scalar<L>, By...> {
  static_assert(never<L>,
                MTF_SENTENCE("mtf: value_and_grad needs a function that returns a scalar tensor: take a mean or a sum",
                             L));
};
template <class G, class... By>
struct require<error_not_parameters<G>, By...> {
  static_assert(
      never<G>,
      MTF_SENTENCE("mtf: gradients are taken in the tensors of a structure, the function's first argument: a template "
                   "<template <class...> class Tensor> struct with MTF_FIELDS",
                   G));
};

}  // namespace detail

/// When partial gradients are reduced: `later`, when the optimizer (or other code) needs them reduced; or `overlapped`,
/// each one while the backward pass computes the next.
enum class completed_gradients : std::uint8_t { later, overlapped };

namespace detail {

template <class X>
inline constexpr bool is_scalar_tensor = false;
template <class T, class L, class P, class B>
inline constexpr bool is_scalar_tensor<tensor<T, shape<>, L, P, B>> = true;

/// The verdict on what gradients are taken in: a structure of tensors, as a template.
template <class Params>
using parameters_verdict_t = std::conditional_t<is_structure<Params> || std::is_same_v<Params, refused>,
                                                fields_verdict_t<Params>, error_not_parameters<Params>>;

/// What a function whose gradients are taken returns: a scalar tensor, or a pair of that and what else it found.
template <class Found>
struct found_loss {
  using loss = Found;
  using auxiliary = void;
};
template <class Loss, class Auxiliary>
struct found_loss<std::pair<Loss, Auxiliary>> {
  using loss = Loss;
  using auxiliary = Auxiliary;
};
template <class Loss>
constexpr Loss const& loss_in(Loss const& found) {
  return found;
}
template <class Loss, class Auxiliary>
constexpr Loss const& loss_in(std::pair<Loss, Auxiliary> const& found) {
  return found.first;
}

/// Several structures, as std::tie gives them.
template <class Params>
inline constexpr bool are_several = false;
template <class... S>
inline constexpr bool are_several<std::tuple<S&...>> = sizeof...(S) > 0;
/// f(structures..., args...), for one structure or a tuple of several.
template <class F, class Params, class... Args>
constexpr decltype(auto) call_with(F const& f, Params const& params, Args const&... args) {
  return f(params, args...);
}
template <class F, class... S, class... Args>
constexpr decltype(auto) call_with(F const& f, std::tuple<S...> const& params, Args const&... args) {
  return std::apply([&](auto const&... p) -> decltype(auto) { return f(p..., args...); }, params);
}
/// The backend of the first.
template <class Backend, class Params>
constexpr Backend& backend_of_each(Params const& params) {
  if constexpr (are_several<Params>)
    return backend_of<Backend>(std::get<0>(params));
  else
    return backend_of<Backend>(params);
}
/// The same as walk_tensors, for one structure or tuples of several.
template <class Backend, class F, class S, class... Rest>
constexpr void walk_each(Backend& b, F&& f, S& s, Rest&... rest) {
  walk_tensors(b, f, s, rest...);
}
template <class Backend, class F, class... S, class... Rest>
constexpr void walk_each(Backend& b, F&& f, std::tuple<S...> const& s, Rest&... rest) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const walk_one = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
      walk_tensors(b, f, std::get<J>(s), std::get<J>(rest)...);
    };
    (walk_one(std::integral_constant<std::size_t, I>{}), ...);
  }(std::index_sequence_for<S...>{});
}

/// The verdict on a function whose gradients are taken in its first arguments. Each is asked only if those before hold:
/// a function that is called with other arguments than it was written for may not compile.
template <class F, class... Args>
struct asked_of {
  template <class... Params>
  static auto verdict() {
    using parameters = first_failed_t<parameters_verdict_t<Params>...>;
    if constexpr (!parameters::value) {
      return parameters{};
    } else if constexpr (!callable_t<F, as_computed_t<Params> const&..., Args const&...>::value) {
      return callable_t<F, as_computed_t<Params> const&..., Args const&...>{};
    } else {
      using value = typename found_loss<std::remove_cvref_t<decltype(std::declval<F const&>()(
          std::declval<as_computed_t<Params> const&>()..., std::declval<Args const&>()...))>>::loss;
      return std::conditional_t<is_scalar_tensor<value> || std::is_same_v<value, refused>, ok,
                                error_loss_is_not_scalar<value>>{};
    }
  }
  template <class... S>
  static auto of_each(std::tuple<S&...> const*) {
    return verdict<std::remove_const_t<S>...>();
  }
};
template <class F, class Params, class... Args>
auto loss_verdict() {
  if constexpr (is_accumulated<F>)
    return loss_verdict<std::remove_cvref_t<decltype(std::declval<F const&>().each())>, Params,
                        of_micro_batch_t<Args>...>();
  else if constexpr (are_several<Params>)
    return asked_of<F, Args...>::of_each(static_cast<Params const*>(nullptr));
  else
    return asked_of<F, Args...>::template verdict<Params>();
}
template <class F, class... Args>
using loss_verdict_t = decltype(loss_verdict<F, Args...>());

template <class Params>
struct gradients_of {
  using checked = checked_t<parameters_verdict_t<Params>>;
  using type = refused;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct gradients_of<Structure<Tensor>> {
  using type = Structure<gradient_of<Tensor>::template tensor>;
};

template <class... S>
struct gradients_of<std::tuple<S...>> {
  using type = std::tuple<typename gradients_of<S>::type...>;
};

/// Where the gradient of a parameter is collected.
template <class X>
struct slot_of_tensor {
  gradient_slot<typename X::backend_type, typename X::element_type>* at = nullptr;
};
template <template <class...> class Tensor>
struct slot_of {
  template <class... D>
  using tensor = slot_of_tensor<Tensor<D...>>;
};
template <class Params>
struct slots_of;
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct slots_of<Structure<Tensor>> {
  using type = Structure<slot_of<Tensor>::template tensor>;
};

template <class... S>
struct slots_of<std::tuple<S...>> {
  using type = std::tuple<typename slots_of<S>::type...>;
};

/// What a function f that is differentiated returns.
template <class F, class Params, class... Args>
using found_t = std::remove_cvref_t<decltype(call_with(
    std::declval<F const&>(), std::declval<as_computed_t<Params> const&>(), std::declval<Args const&>()...))>;

}  // namespace detail

/// The type of the gradients of a parameter structure; of several, by std::tie, a tuple. Their elements have the
/// parameters' type, or the one in which the `precision` of these reduces gradients.
template <class Params>
using gradients_t = typename detail::gradients_of<typename detail::model_types<Params>::completed>::type;

/// The result of a function made by `value_and_grad`; `Auxiliary` is what its function found besides, if it did.
template <class Value, class Gradients, class Auxiliary = void>
struct value_and_gradients {
  Value value;
  Gradients gradients;
  Auxiliary auxiliary;
};
template <class Value, class Gradients>
struct value_and_gradients<Value, Gradients, void> {
  Value value;
  Gradients gradients;
};

namespace detail {

/// What value_and_grad returns for a function that returns `Found`.
template <class Found, class Params>
using differentiated_t =
    value_and_gradients<decltype(complete(std::declval<typename found_loss<Found>::loss const&>())),
                        gradients_t<Params>, typename found_loss<Found>::auxiliary>;

template <class A>
inline constexpr bool is_tuple = false;
template <class... A>
inline constexpr bool is_tuple<std::tuple<A...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// Makes constants of the tensors in what a function found besides its loss. (In a class of the user's own they are
/// constants when the tape has ended.)
template <class A>
constexpr void detach([[maybe_unused]] A& a) {
  if constexpr (is_tuple<A>) {
    std::apply([](auto&... each) { (detach(each), ...); }, a);
  } else if constexpr (tensor_type<A> || fields<A> || are_layers<A>) {
    auto const stop = [](path const&, auto& x) {
      if constexpr (tensor_type<std::remove_cvref_t<decltype(x)>>)
        if (!x.empty()) x = stop_gradient(x);
    };
    walk(static_cast<void*>(nullptr), stop, nullptr, a);
  }
}

// By overloads: nvcc 13.0 looks into what `if constexpr` leaves out in a lambda.
template <class Value, class Gradients, class Found>
constexpr void keep_auxiliary(value_and_gradients<Value, Gradients, void>&, Found const&) {}
template <class Value, class Gradients, class Auxiliary, class Found>
constexpr void keep_auxiliary(value_and_gradients<Value, Gradients, Auxiliary>& to, Found const& found) {
  to.auxiliary = found.second;
  detach(to.auxiliary);
}

/// Gradients that are summed over many batches.
template <class Params>
using summed_gradients_t =
    typename gradients_of<typename as_summed<typename model_types<Params>::completed>::type>::type;

/// Runs f forward and backward. see(found) is told what it found before the backward pass. `gradients` become those of
/// f, times `weight`, and the sum `before`, which may be the same object, or be empty then; with `overlapped` the sums
/// are reduced.
template <class Split, class F, class Params, class Before, class Gradients, class See, class... Args>
constexpr void run_both_ways(completed_gradients when, double weight, F const& f, Params const& params, Before& before,
                             Gradients& gradients, See const& see, Args const&... args) {
  using loss_type = typename found_loss<found_t<F, Params, Args...>>::loss;
  using backend_type = typename loss_type::backend_type;
  using T = typename loss_type::element_type;
  backend_type& backend = backend_of_each<backend_type>(params);
  tape<backend_type> recorded(backend, when == completed_gradients::overlapped);
  ref<gradient_slot<backend_type, T>> result;
  typename slots_of<as_computed_t<Params>>::type slots;
  {
    as_computed_t<Params> tracked;
    walk_each(
        backend,
        [&](path const& name, auto const& p, auto& t, auto& s, auto& b, auto const& g) {
          using U = typename std::remove_cvref_t<decltype(t)>::element_type;
          constexpr bool widens = !std::is_same_v<U, typename std::remove_cvref_t<decltype(g)>::element_type>;
          if (tape_of(p.value()) != nullptr) gradient_of_a_gradient();
          auto const computed = cast_call<U>{}(p);
          auto const place = place_of(computed);
          t = place.tensor(detail::value<backend_type, U>(
              computed.value().memory,
              recorded.template parameter<U>(place.spec(), state_axes<Split>(place), name.names(), widens)));
          s.at = t.value().slot.get();
          if (b.is_zero()) return;
          check_extents<typename std::remove_cvref_t<decltype(p)>::shape_type>("value_and_grad", name, place.spec(),
                                                                               b.place().spec());
          if constexpr (std::is_same_v<U, typename std::remove_cvref_t<decltype(b)>::element_type>)
            s.at->add(b.take());
          else
            recorded.begin_last_with(b.take());
        },
        params, tracked, slots, before, gradients);
    auto const found = call_with(f, std::as_const(tracked), args...);
    see(found);
    auto const& loss = loss_in(found);
    if (auto* const by = tape_of(loss.value()); by == &recorded)
      result = loss.value().slot;
    else if (by != nullptr)
      gradient_of_a_gradient();
    // In constant expressions nvcc 13.0 destroys only the first element of an array that is a member.
    if constexpr (!backend_type::holds_data)
      walk_each(backend, [](auto const&, auto& t) { t = std::remove_cvref_t<decltype(t)>(); }, tracked);
  }
  // From here on the nodes alone hold the parameters' slots.
  if (result) {
    auto seed = make_buffer<T>(backend, 1);
    {
      during<backend_type> const backward(backend, pass::backward);
      operation<backend_type> const here(backend, "gradient", sharding_of<shape<>, layout<mesh<>>>);
      backend.run(primitives::fill<T>{data_of<T>(seed), 1, static_cast<T>(static_cast<compute_t<T>>(weight))});
    }
    result->add({std::move(seed), 0});
    result = {};
    recorded.run();
  }
  std::size_t i = 0;
  walk_each(
      backend,
      [&](auto const&, auto const& p, auto const& s, auto& g) {
        using G = std::remove_cvref_t<decltype(g)>;
        g = G(backend, place_as<typename G::tensor_type>(place_of(p)), recorded.gradient(i++, s.at));
      },
      params, std::as_const(slots), gradients);
}

/// Fills `to`, a value_and_gradients. It is not returned: GCC 12 copies arrays of tensors without counting when it
/// evaluates a constant expression (it copies their bits), and a plan's figure of memory would be off.
template <class Split, class F, class Params, class To, class... Args>
constexpr void differentiate(completed_gradients when, F const& f, Params const& params, To& to, Args const&... args) {
  if constexpr (is_accumulated<F>) {
    auto const& each = f.each();
    using loss = found_t<std::remove_cvref_t<decltype(each)>, Params, of_micro_batch_t<Args>...>;
    using weight = std::remove_cvref_t<decltype(f.weight())>;
    mean_of_losses<loss, weight> mean;
    summed_gradients_t<Params> sums;
    auto const run = [&](micro_batch const& m, completed_gradients completed, auto& gradients) {
      run_both_ways<Split>(
          completed, m.share, each, params, sums, gradients, [&](loss const& found) { mean.add(found, m.share); },
          of_micro_batch(args, m.number)...);
    };
    for_each_micro_batch(backend_of_each<typename loss::backend_type>(params), f.weight(), f.size(),
                         [&](micro_batch const& m) {
                           if (m.last)
                             run(m, when, to.gradients);
                           else
                             run(m, completed_gradients::later, sums);
                         });
    to.value = mean.value(f.size());
  } else {
    auto const see = [&](auto const& found) {
      to.value = stop_gradient(complete(loss_in(found)));
      keep_auxiliary(to, found);
    };
    run_both_ways<Split>(when, 1, f, params, to.gradients, to.gradients, see, args...);
  }
}

}  // namespace detail

/// A function that calls f(params, args...), which returns a scalar tensor, and returns its value, reduced, with the
/// gradients for every tensor of `params`. If these have a `precision`, f gets copies of them in the type that it
/// computes in. Reverse mode: the operations on parameters are recorded and run backwards, each freeing what it kept.
/// `Split` is the optimizer's state_split_over: with completed_gradients::overlapped each rank then gets only its part
/// of a gradient.
///
/// In place of the scalar f may return a std::pair of it and something else, of tensors, numbers or both: that is
/// returned too, as constants, `auto [value, gradients, auxiliary] = ...`. Gradients are taken in several structures
/// if these are given by `std::tie(a, b)`: f is then called with (a, b, args...), and the gradients are a tuple. In
/// `args` none are taken: parameters that are frozen stand there. Several batches as one: `accumulated`.
///
/// A parameter that was never given a value, and a function that is being differentiated already (gradients of
/// gradients are not computed), are a user_error. Refused: parameters that are no structure of tensors, arguments that
/// f does not take, a value that is not a scalar tensor.
template <class Split = state_split_over<>, class F>
constexpr auto value_and_grad(F f, completed_gradients when = completed_gradients::later) {
  return [f, when]<class Params, class... Args>(Params const& params, Args const&... args) {
    using verdict = detail::loss_verdict_t<F, Params, Args...>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return value_and_gradients<refused, refused>{};
    } else {
      using found = detail::found_t<F, Params, Args...>;
      if constexpr (std::is_same_v<typename detail::found_loss<found>::loss, refused>) {
        return value_and_gradients<refused, refused>{};
      } else {
        detail::differentiated_t<found, Params> result;
        detail::differentiate<Split>(when, f, params, result, args...);
        return result;
      }
    }
  };
}

}  // namespace mtf
