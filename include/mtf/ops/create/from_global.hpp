#pragma once
// Tensors from the host.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/growing_array.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
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

/// What is given of a tensor's extents with a call; one that nobody gave follows from the number of elements, if they
/// are a multiple of the others.
template <class Backend, class... D>
extents_value extents_of_elements(Backend& b, shape<D...> const*, extents_value extents, std::size_t elements) {
  std::int64_t others = 1;
  int open = 0;
  std::string_view name;
  extents_here const here{b.layouts().extents(), &extents};
  auto const look = [&](std::optional<std::int64_t> extent, std::string_view of) {
    if (extent) {
      others *= *extent;
    } else {
      ++open;
      name = of;
    }
  };
  (look(here.template find<D>(), D::name), ...);
  auto const n = static_cast<std::int64_t>(elements);
  if (open != 1) return extents;
  if (n % others != 0 || n == 0)
    throw user_error("from_global: " + std::string(name) + " has no extent, and " + std::to_string(n) +
                     " elements are no multiple of the " + std::to_string(others) + " at each of its positions");
  extents.give(name, n / others);
  return extents;
}

/// The place of a tensor of which so many elements are given.
template <class X>
tensor_place<X> place_of_elements(typename X::backend_type& b, [[maybe_unused]] extents_value const& extents,
                                  std::size_t elements) {
  auto const where = [&] {
    if constexpr (X::shape_type::has_extents) {
      return place_for<X>(b);
    } else {
      auto const all = extents_of_elements(b, static_cast<typename X::shape_type const*>(nullptr), extents, elements);
      return place_for<X>(b, &all);
    }
  }();
  if (elements != static_cast<std::size_t>(where.spec().global_size()))
    throw user_error("from_global: the tensor has " + std::to_string(where.spec().global_size()) + " elements, but " +
                     std::to_string(elements) + " were given");
  return where;
}

}  // namespace detail

/// A tensor whose global elements, row-major over its shape, are given on every rank, the same on all; each keeps its
/// shard. `extents`: of dimensions whose extents are values, in place of those that the backend was given; one that
/// neither says follows from the number of elements, as of a last batch that is smaller.
template <tensor_type X>
X from_global(typename X::backend_type& b, std::span<typename X::element_type const> global,
              extents_value const& extents = {}) {
  using T = typename X::element_type;
  auto const where = detail::place_of_elements<X>(b, extents, global.size());
  auto const owned = detail::owned_elements_of(where.spec(), b.ranks().mesh(), b.ranks().rank());
  auto const size = static_cast<std::size_t>(where.local_size());
  using stored =
      std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // std::vector<bool> is no array of bools
  std::vector<stored> mine(size);                                     // pads are 0
  for (backend::index i = 0; i < owned.count; ++i) {
    auto rest = i, at = owned.offset, to = backend::index{0};
    for (int d = owned.where.ndim - 1; d >= 0; --d) {
      auto const e = static_cast<std::size_t>(d);
      auto const k = rest % owned.where.extent[e];
      at += k * owned.where.stride[0][e];
      to += k * owned.where.stride[1][e];
      rest /= owned.where.extent[e];
    }
    mine[static_cast<std::size_t>(to)] = static_cast<stored>(global[static_cast<std::size_t>(at)]);
  }
  auto const v = detail::make_value<T>(b, where.local_size());
  b.from_host(v.data(), mine.data(), size * sizeof(T));
  return where.tensor(v);
}

/// Also a std::vector<bool>, which is no array of bools. Refused: elements of another type, or not in one piece.
template <tensor_type X, class Given>
  requires(!std::is_convertible_v<Given, std::span<typename X::element_type const>>)
X from_global([[maybe_unused]] typename X::backend_type& b, [[maybe_unused]] Given&& given,
              [[maybe_unused]] extents_value const& extents = {}) {
  using T = typename X::element_type;
  if constexpr (std::is_same_v<std::remove_cvref_t<Given>, std::vector<bool>> && std::is_same_v<T, bool>) {
    backend::growing_array<bool> all;
    all.reserve(given.size());
    for (bool const x : given) all.push_back(x);
    return from_global<X>(b, std::span<bool const>(all.begin(), all.size()), extents);
  } else {
    detail::require<error_not_elements<std::remove_cvref_t<Given>, T>>{};
    return {};
  }
}

namespace detail {

/// "batch 3, sequence 17": the place of a global element, counted from 0.
inline std::string position_text(sharding const& of, std::size_t at) {
  std::string text;
  auto const step = [&](std::string_view name, std::int64_t extent) {
    text = std::string(name) + " " + std::to_string(static_cast<std::int64_t>(at) % extent) +
           (text.empty() ? "" : ", ") + text;
    at /= static_cast<std::size_t>(extent);
  };
  for (int d = of.ndim; d-- > 0;) step(of[d].name, of[d].logical());
  return text;
}

}  // namespace detail

/// The same for positions along Dim, such as labels or token numbers. A negative one stands for none. One at or above
/// the extent is a user_error that says where it is.
template <tensor_type X, dimension Dim>
X from_global(typename X::backend_type& b, std::span<typename X::element_type const> global,
              extents_value const& extents = {}) {
  auto const positions = detail::extents_here{b.layouts().extents(), &extents}.template of<Dim>();
  for (std::size_t i = 0; i < global.size(); ++i)
    if (global[i] >= positions)
      throw user_error("from_global: " + std::string(Dim::name) + " has " + std::to_string(positions) +
                       " positions, 0 to " + std::to_string(positions - 1) + " (negative: none), but the element at [" +
                       detail::position_text(detail::place_of_elements<X>(b, extents, global.size()).spec(), i) +
                       "] is " + std::to_string(global[i]));
  return from_global<X>(b, global, extents);
}
template <tensor_type X, dimension Dim, class Given>
  requires(!std::is_convertible_v<Given, std::span<typename X::element_type const>>)
X from_global(typename X::backend_type& b, Given&& given, extents_value const& extents = {}) {
  return from_global<X>(b, std::forward<Given>(given), extents);
}

namespace detail {

template <class X>
struct placed_elements {
  template <class Given>
  static X from(typename X::backend_type& b, Given&& given, extents_value const& extents) {
    return from_global<X>(b, std::forward<Given>(given), extents);
  }
};

}  // namespace detail

}  // namespace mtf
