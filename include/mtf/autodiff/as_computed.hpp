#pragma once
// A model's parameters as its function gets them.
#include <type_traits>

#include <mtf/detail/tensor/model_types.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/tensor/params.hpp>

namespace mtf {

/// The type of `as_computed(params)`.
template <class Params>
using as_computed_t = typename detail::model_types<Params>::computed;

/// The parameters in the type that their `precision` computes in, as value_and_grad gives them to its function: for
/// calls without gradients, `loss(mtf::as_computed(p), x, y)`. Where that is their own type: a reference to them,
/// so that a function may ask for it whoever calls it.
template <class Params>
constexpr decltype(auto) as_computed(Params const& params) {
  if constexpr (std::is_same_v<as_computed_t<Params>, Params>) {
    return (params);
  } else {
    as_computed_t<Params> computed;
    auto const cast = [](auto const&, auto const& p, auto& c) {
      c = detail::cast_call<typename std::remove_cvref_t<decltype(c)>::element_type>{}(p);
    };
    detail::walk(static_cast<void*>(nullptr), cast, nullptr, params, computed);
    return computed;
  }
}

}  // namespace mtf
