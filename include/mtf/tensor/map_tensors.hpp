#pragma once
// Arithmetic on structures of tensors.
#include <array>
#include <cstddef>
#include <type_traits>

#include <mtf/backend/trace.hpp>
#include <mtf/core/refused.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/stack.hpp>

namespace mtf {

/// The function given to map_tensors returns something else than the structure has there.
template <class Returned, class Field>
struct error_mapped_type : detail::failed {};

namespace detail {

template <class R, class F, class... By>
struct require<error_mapped_type<R, F>, By...> {
  static_assert(never<R, F>,
                MTF_SENTENCE("mtf: the function given to map_tensors returns for a tensor of the first structure what "
                             "cannot take its place: a tensor of another type, or none; error_mapped_type<returned, "
                             "wanted>",
                             R, F));
};

/// What holds the tensors of a structure.
template <class S>
struct backend_under {
  using type = typename S::backend_type;
};
template <class T, std::size_t N>
struct backend_under<std::array<T, N>> : backend_under<T> {};
template <class Count, class T>
struct backend_under<stack<Count, T>> : backend_under<T> {};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct backend_under<Structure<Tensor>> : backend_under<Tensor<>> {};

template <class Field, class R>
constexpr void put_mapped(Field& to, R const& result) {
  if constexpr (std::is_same_v<Field, R>)
    to = result;
  else if constexpr (std::is_constructible_v<Field, R const&> && !std::is_same_v<R, refused>)
    to = Field(result);  // a tensor as a gradient
  else if constexpr (!std::is_same_v<R, refused>)
    require<error_mapped_type<R, Field>>{};
}

template <class F, class S, class... Rest>
constexpr S mapped(F& f, S const& s, Rest const&... others) {
  S made{};
  auto const each = [&]<class To>(auto const&, To& to, auto const& x, auto const&... y) {
    if constexpr (std::is_void_v<decltype(f(x, y...))>)
      require<error_mapped_type<void, To>>{};
    else
      put_mapped(to, f(x, y...));
  };
  using backend_type = typename backend_under<S>::type;
  if constexpr (std::is_same_v<backend_type, trace>) {
    trace* on = nullptr;
    auto const look = [&]<class X>(auto const&, X const& x) {
      if (on != nullptr) return;
      if constexpr (std::is_pointer_v<decltype(x.backend())>)
        on = x.backend();
      else
        on = &x.backend();
    };
    walk(static_cast<void*>(nullptr), look, nullptr, s);
    if (on != nullptr) {
      walk(on, each, nullptr, made, s, others...);
      return made;
    }
  }
  walk(static_cast<void*>(nullptr), each, nullptr, made, s, others...);
  return made;
}

}  // namespace detail

/// A structure like `s`, of which each tensor is f(the tensor of s, that of each of the others...): arithmetic on
/// parameters, gradients or averages, such as the difference of two models. The structures have the same fields; f
/// returns what s has there, or, where s has a gradient, also the tensor that it shall be. It gets gradients to which
/// nothing flowed, too: made of a tensor they are no longer `is_zero`, and an optimizer then decays their parameters.
/// On a trace equal layers are one loop of its plan. Refused: a function that returns another type.
template <class F, class S, class... Rest>
constexpr S map_tensors(F&& f, S const& s, Rest const&... others) {
  if constexpr (std::is_same_v<S, refused> || (std::is_same_v<Rest, refused> || ...))
    return S{};  // the gradients of a loss that was refused
  else
    return detail::mapped(f, s, others...);
}

}  // namespace mtf
