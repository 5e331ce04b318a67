#pragma once
// From a structure of parameters to the types of a model's other tensors, as the precision of the parameters' place
// says. Where it says nothing, they are the parameters' own.
#include <tuple>
#include <type_traits>

#include <mtf/core/element.hpp>
#include <mtf/core/precision.hpp>
#include <mtf/tensor/place.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// What tensors made by `Tensor` were given for a precision; void if nothing.
template <template <class...> class Tensor>
constexpr auto precision_asked() {
  if constexpr (requires { typename Tensor<asks_precision>; })
    if constexpr (is_precision<Tensor<asks_precision>>) return static_cast<Tensor<asks_precision>*>(nullptr);
}
template <template <class...> class Tensor>
using precision_of_t = std::remove_pointer_t<decltype(precision_asked<Tensor>())>;

template <class X, class T>
struct with_elements;
template <class Old, class S, class L, class P, class B, class T>
struct with_elements<tensor<Old, S, L, P, B>, T> {
  using type = tensor<T, S, L, P, B>;
};
/// The same tensors, of elements of type T.
template <template <class...> class Tensor, class T>
struct of_elements {
  template <class... D>
  using tensor = typename with_elements<Tensor<D...>, T>::type;
};

/// The structures that parameters of this type have beside them: `computed`, of the copies that the differentiated
/// function gets; `completed`, of tensors like the gradients. `state<T>`: the element type of an optimizer's state for
/// parameters of T.
template <class Params>
struct model_types {
  template <class T>
  using state = compute_t<T>;
  using computed = Params;
  using completed = Params;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
  requires(is_precision<precision_of_t<Tensor>>)
struct model_types<Structure<Tensor>> {
  using precision = precision_of_t<Tensor>;
  template <class>
  using state = typename precision::state;
  template <class T>
  using of = std::conditional_t<std::is_same_v<T, typename precision::parameter>, Structure<Tensor>,
                                Structure<of_elements<Tensor, T>::template tensor>>;
  using computed = of<typename precision::compute>;
  using completed = of<typename precision::completed>;
};

/// The structure whose tensors have the type that those of S are computed in: long sums are taken in it.
template <class S>
struct as_summed;
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct as_summed<Structure<Tensor>> {
  using element = typename Tensor<>::element_type;
  using type = std::conditional_t<std::is_same_v<element, compute_t<element>>, Structure<Tensor>,
                                  Structure<of_elements<Tensor, compute_t<element>>::template tensor>>;
};
template <class... S>
struct as_summed<std::tuple<S...>> {
  using type = std::tuple<typename as_summed<S>::type...>;
};

/// Of several structures, as std::tie gives them.
template <class... S>
struct model_types<std::tuple<S&...>> {
  using computed = std::tuple<typename model_types<std::remove_const_t<S>>::computed...>;
  using completed = std::tuple<typename model_types<std::remove_const_t<S>>::completed...>;
};

}  // namespace mtf::detail
