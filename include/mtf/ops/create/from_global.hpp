#pragma once
// Tensors from the host.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

/// from_global is given something other than elements of the type of the tensor.
template <class Given, class Element>
struct error_not_elements : detail::failed {};

namespace detail {

template <class G, class E, class... By>
struct require<error_not_elements<G, E>, By...> {
  static_assert(
      never<G, E>,
      MTF_SENTENCE("mtf: from_global takes the elements as they are in the tensor, as a std::vector, std::array or "
                   "std::span of its element type; error_not_elements<given, element type>",
                   G, E));
};

}  // namespace detail

/// A tensor whose global elements, row-major over its shape, are given on every rank, the same on all; each keeps its
/// shard.
template <tensor_type X>
X from_global(typename X::backend_type& b, std::span<typename X::element_type const> global) {
  using T = typename X::element_type;
  if (global.size() != static_cast<std::size_t>(X::shape_type::size))
    throw user_error("from_global: the tensor has " + std::to_string(X::shape_type::size) + " elements, but " +
                     std::to_string(global.size()) + " were given");
  auto const where = detail::place_for<X>(b);
  auto const place = detail::placement_of(where.spec(), b.ranks().mesh(), b.ranks().rank());
  auto const size = static_cast<std::size_t>(where.local_size());
  using stored =
      std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // std::vector<bool> is no array of bools
  std::vector<stored> mine(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto rest = static_cast<backend::index>(i), at = place.offset;
    for (int d = place.local.ndim - 1; d >= 0; --d) {
      auto const e = static_cast<std::size_t>(d);
      at += rest % place.local.extent[e] * place.local.stride[0][e];
      rest /= place.local.extent[e];
    }
    mine[i] = static_cast<stored>(global[static_cast<std::size_t>(at)]);
  }
  auto const v = detail::make_value<T>(b, where.local_size());
  b.from_host(v.data(), mine.data(), size * sizeof(T));
  return where.tensor(v);
}

/// Refused: elements of another type, or not in one piece.
template <tensor_type X, class Given>
  requires(!std::is_convertible_v<Given, std::span<typename X::element_type const>>)
X from_global(typename X::backend_type&, Given&&) {
  detail::require<error_not_elements<std::remove_cvref_t<Given>, typename X::element_type>>{};
  return {};
}

namespace detail {

/// "batch 3, sequence 17": the place of a global element, counted from 0.
template <class... D>
std::string position_text(shape<D...> const*, std::size_t at) {
  std::string text;
  auto const step = [&](std::string_view name, std::int64_t extent) {
    text = std::string(name) + " " + std::to_string(static_cast<std::int64_t>(at) % extent) +
           (text.empty() ? "" : ", ") + text;
    at /= static_cast<std::size_t>(extent);
  };
  std::array<std::pair<std::string_view, std::int64_t>, sizeof...(D)> const dims{std::pair{D::name, D::extent}...};
  for (std::size_t d = dims.size(); d-- > 0;) step(dims[d].first, dims[d].second);
  return text;
}

}  // namespace detail

/// The same for positions along Dim, such as labels or token numbers. A negative one stands for none. One at or above
/// the extent is a user_error that says where it is.
template <tensor_type X, dimension Dim>
X from_global(typename X::backend_type& b, std::span<typename X::element_type const> global) {
  for (std::size_t i = 0; i < global.size(); ++i)
    if (global[i] >= Dim::extent)
      throw user_error("from_global: " + std::string(Dim::name) + " has " + std::to_string(Dim::extent) +
                       " positions, 0 to " + std::to_string(Dim::extent - 1) +
                       " (negative: none), but the element at [" +
                       detail::position_text(static_cast<typename X::shape_type const*>(nullptr), i) + "] is " +
                       std::to_string(global[i]));
  return from_global<X>(b, global);
}
template <tensor_type X, dimension Dim, class Given>
  requires(!std::is_convertible_v<Given, std::span<typename X::element_type const>>)
X from_global(typename X::backend_type& b, Given&& given) {
  return from_global<X>(b, std::forward<Given>(given));
}

}  // namespace mtf
