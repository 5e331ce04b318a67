#pragma once
// The element type, layout and backend of the tensors of a structure.
#include <mtf/backend/trace.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/precision.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// A description of tensors of one element type, layout and backend: what a parameter structure takes as its template
/// argument, `mlp<mtf::place<float, where, backend>::tensor>`. A leading `under<Layout>` overrides the layout.
template <layout_type Layout>
struct under {};

namespace detail {
/// In place of dimensions: what is the precision?
struct asks_precision {};

template <class T, class Layout, class Backend, class... D>
struct placed {
  using type = tensor<typename parameter_type<T>::type, shape<D...>, Layout, partial<>, Backend>;
};
template <class T, class Layout, class Backend>
struct placed<T, Layout, Backend, asks_precision> {
  using type = T;
};
template <class T, class Layout, class Backend, class Other, class... D>
struct placed<T, Layout, Backend, under<Other>, D...> : placed<T, Other, Backend, D...> {};

/// In mtf/ops/create/from_global.hpp.
template <class X>
struct placed_elements;
}  // namespace detail

/// Tensors of T under Layout on Backend; without a backend, only their types and plans. T is an element type, or a
/// `precision`: then these are the parameters of a model, and say in which types it is computed.
template <class T, layout_type Layout, class Backend = trace>
struct place {
  /// The tensor of dimensions D; or of `under<Other>` and dimensions, under the layout Other.
  template <class... D>
  using tensor = typename detail::placed<T, Layout, Backend, D...>::type;
  /// The same place for another element type.
  template <class U>
  using rebound = place<U, Layout, Backend>;

  /// mtf::from_global of the tensor of dimensions D: `place::from_global<batch, hidden>(backend, elements)`.
  template <class... D, class Given>
  static auto from_global(Backend& b, Given&& elements, extents_value const& extents = {}) {
    return detail::placed_elements<tensor<D...>>::from(b, static_cast<Given&&>(elements), extents);
  }
};

/// The same structure template under another layout: `block<mtf::relaid<Tensor, upper>::template tensor>`.
template <template <class...> class Tensor, layout_type Layout>
struct relaid {
  /// The tensor of dimensions D under the other layout.
  template <class... D>
  using tensor = Tensor<under<Layout>, D...>;
};

}  // namespace mtf
