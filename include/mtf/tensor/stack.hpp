#pragma once
// Equal layers, of which the number may be a value.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mtf/core/dim.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/detail/core/pack.hpp>

namespace mtf {

namespace detail {

template <class S>
concept fields = requires { typename S::hana_accessors_impl; };

/// The types of a structure's fields, a list.
template <class S>
using field_types = decltype(S::hana_accessors_impl::template field_types<S>());

/// Does a structure hold, in place of tensors, what they are counted by (`weighed` of params.hpp)?
template <class S>
    struct holds_weights : std::bool_constant < requires {
  S::counts_as_a_tensor;
}>{};
template <class T, std::size_t N>
struct holds_weights<std::array<T, N>> : holds_weights<T> {};
template <fields S>
struct holds_weights<S> {
  template <class... Field>
  static std::bool_constant<(holds_weights<Field>::value || ...)> any(list<Field...>);
  static constexpr bool value = decltype(any(field_types<S>{}))::value;
};

/// The layer is not looked at where the type has the extent.
template <class Count, class Layer>
constexpr bool has_extent_as_value() {
  if constexpr (has_extent<Count>)
    return false;
  else
    return !holds_weights<Layer>::value;
}

// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void not_sized(std::string_view count) {
  throw user_error("a stack does not know its number of layers, the extent of " + std::string(count) +
                   ", which is a value: make its structure by mtf::sized<parameters>(backend), or call its resize(n)");
}

[[noreturn]] inline void too_many_layers(std::string_view count, std::size_t n) {
  throw user_error("a stack has up to " + std::to_string(max_layers) +
                   " layers, mtf::max_layers; here: " + std::string(count) + " " + std::to_string(n));
}

}  // namespace detail

/// Equal layers, each a structure of tensors, or a tensor: a field of a structure, that mtf::scan goes through. Their
/// number is the extent of Count. Where Count's type has none, it is given when the program runs, as extents are:
/// `backend.layouts().give({{"layers", 12}})`; 0 is a number too. Then a stack that was made by itself has no number
/// yet: mtf::sized<parameters>(backend) makes structures whose stacks have. (Where the library makes one beside
/// another, as gradients and an optimizer's state are, it sees to that itself.)
template <dimension Count, class Layer>
class stack {
 public:
  /// What counts its layers.
  using count_type = Count;
  /// Is the number of layers a value?
  static constexpr bool is_resizable = detail::has_extent_as_value<Count, Layer>();

  /// How many layers there are; 0 also where that is not known yet.
  [[nodiscard]] constexpr std::size_t size() const { return layers_.size(); }
  /// Is it known how many there are?
  [[nodiscard]] constexpr bool is_sized() const {
    if constexpr (is_resizable) return is_sized_;
    return true;
  }
  /// Keeps the first n layers; those that come anew have tensors without values. More than max_layers: a user_error.
  constexpr void resize(std::size_t n)
    requires is_resizable
  {
    if (n > max_layers) detail::too_many_layers(Count::name, n);
    layers_.resize(n);
    is_sized_ = true;
  }

  /// The i-th layer.
  [[nodiscard]] constexpr Layer& operator[](std::size_t i) { return layers_[i]; }
  [[nodiscard]] constexpr Layer const& operator[](std::size_t i) const { return layers_[i]; }
  /// For loops over all layers.
  [[nodiscard]] constexpr auto begin() { return layers_.begin(); }
  [[nodiscard]] constexpr auto begin() const { return layers_.begin(); }
  /// And their end.
  [[nodiscard]] constexpr auto end() { return layers_.end(); }
  [[nodiscard]] constexpr auto end() const { return layers_.end(); }

 private:
  static constexpr std::size_t count_in_type() {
    if constexpr (detail::has_extent<Count>)
      return static_cast<std::size_t>(Count::extent);
    else
      return 1;  // where tensors are counted
  }
  struct nothing {};
  std::conditional_t<is_resizable, std::vector<Layer>, std::array<Layer, count_in_type()>> layers_{};
  [[no_unique_address]] std::conditional_t<is_resizable, bool, nothing> is_sized_{};
};

namespace detail {

template <class Count, class Layer>
struct holds_weights<stack<Count, Layer>> : holds_weights<Layer> {};

template <class S>
inline constexpr bool is_resizable = false;
template <class Count, class Layer>
inline constexpr bool is_resizable<stack<Count, Layer>> = stack<Count, Layer>::is_resizable;

/// Has a structure a stack whose number of layers is a value?
template <class S>
struct has_resizable : std::false_type {};
template <class T, std::size_t N>
struct has_resizable<std::array<T, N>> : has_resizable<T> {};
template <class Count, class Layer>
struct has_resizable<stack<Count, Layer>>
    : std::bool_constant<stack<Count, Layer>::is_resizable || has_resizable<Layer>::value> {};
template <fields S>
struct has_resizable<S> {
  template <class... Field>
  static std::bool_constant<(has_resizable<Field>::value || ...)> any(list<Field...>);
  static constexpr bool value = decltype(any(field_types<S>{}))::value;
};

/// Equal layers: an array of them, or a stack.
template <class S>
inline constexpr bool are_layers = false;
template <class Count, class Layer>
inline constexpr bool are_layers<stack<Count, Layer>> = true;
template <class T, std::size_t N>
inline constexpr bool are_layers<std::array<T, N>> = true;

}  // namespace detail

}  // namespace mtf
