#pragma once
// What programs are made of: few dimensions, meshes and layouts as values.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>

#include "../definitions/definition.hpp"
#include "../support/counted_backend.hpp"
#include "../support/number_of.hpp"

namespace fuzz {

using define::array, define::definition, define::number, define::tape, define::dim_list, define::operands;

inline constexpr int dim_count = 6;
inline constexpr std::array<char const*, dim_count> dim_names{"a", "b", "c", "one", "k", "wide"};

struct a : mtf::dim<"a"> {};
struct b : mtf::dim<"b"> {};
struct c : mtf::dim<"c"> {};
struct one : mtf::dim<"one"> {};
struct k : mtf::dim<"k"> {};        // as long as a, which is renamed to it
struct wide : mtf::dim<"wide"> {};  // with a more than 64 KiB of doubles: gradients that are not small

using dims = mtf::detail::list<a, b, c, one, k, wide>;  // as in dim_names

using counted = tests::counted_backend;

inline constexpr std::size_t layout_count = 3;  // any_layout<0> to any_layout<2>

/// The type of all tensors while a program runs: its sharding is known at run time, whatever layout it was made under.
template <class T, class Shape, class Backend>
using on_any = mtf::tensor<T, Shape, mtf::any_layout<>, mtf::partial<>, Backend>;
/// For operations that make tensors: as X, under the first layout.
template <class X>
using first_layout = on_any<typename X::element_type, typename X::shape_type, typename X::backend_type>;

/// An element type and dimensions.
struct kind {
  mtf::element element = mtf::element::f64;
  dim_list dims;
  bool operator==(kind const&) const = default;
};
constexpr bool is_floating(mtf::element e) {
  return e == mtf::element::f32 || e == mtf::element::f64 || e == mtf::element::bf16;
}
template <class... D>
kind kind_from(mtf::element e, mtf::shape<D...> const*) {
  return {e, {tests::number_of<D, dims>...}};
}
template <class T, class Shape>
kind kind_of() {
  return kind_from(mtf::element_of<T>, static_cast<Shape const*>(nullptr));
}
/// As in C++.
std::string name_of(mtf::element e);
template <class T>
inline std::string const name_of_element = name_of(mtf::element_of<T>);
/// "mtf::input<double, a, b>" without what is before the bracket.
std::string text_of(kind const& x);
/// Relative, of one rounding: where an element type is computed, and where it is stored.
double computes_to(mtf::element e);
double stores_to(mtf::element e);

/// What a program's parameters are: small ones; and with large gradients besides. Some lie under the second layout.
template <template <class...> class Tensor>
struct small {
  Tensor<a, b> ab;
  Tensor<b, c> bc;
  Tensor<a, b, c> abc;
  Tensor<a> of_a;
  Tensor<b> of_b;
  Tensor<c> of_c;
  Tensor<mtf::under<mtf::any_layout<1>>, a, c> ac;
  Tensor<> scalar;
  MTF_FIELDS(ab, bc, abc, of_a, of_b, of_c, ac, scalar);
};
template <template <class...> class Tensor>
struct large {
  Tensor<a, b> ab;
  Tensor<b> of_b;
  Tensor<a, wide> w1, w2, w3;
  Tensor<mtf::under<mtf::any_layout<1>>, a, wide> w4;
  Tensor<wide> of_wide;
  MTF_FIELDS(ab, of_b, w1, w2, w3, w4, of_wide);
};
using state_split = mtf::state_split_over<b, c>;

}  // namespace fuzz
