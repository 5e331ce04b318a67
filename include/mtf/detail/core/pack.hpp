#pragma once
// Picking types from packs.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace mtf::detail {

template <std::size_t I, class T>
struct indexed {
  using type = T;
};

template <class, class... T>
struct indexer;
template <std::size_t... I, class... T>
struct indexer<std::index_sequence<I...>, T...> : indexed<I, T>... {};

template <std::size_t I, class T>
indexed<I, T> select(indexed<I, T> const*);

/// The I-th type of a pack.
template <std::size_t I, class... T>
using nth = typename decltype(select<I>(static_cast<indexer<std::index_sequence_for<T...>, T...>*>(nullptr)))::type;

template <class... T>
struct list {
  static constexpr std::size_t size = sizeof...(T);
  template <std::size_t I>
  using at = nth<I, T...>;
};

template <class... L>
struct concat;
template <>
struct concat<> {
  using type = list<>;
};
template <template <class...> class L, class... T>
struct concat<L<T...>> {
  using type = list<T...>;
};
template <template <class...> class L1, class... T, template <class...> class L2, class... U, class... Rest>
struct concat<L1<T...>, L2<U...>, Rest...> : concat<list<T..., U...>, Rest...> {};

/// The types of several lists (or shapes) in one list.
template <class... L>
using concat_t = typename concat<L...>::type;

template <class X, class...>
struct first_of {
  using type = X;
};
/// The first type of a pack, which is not empty.
template <class... X>
using first_t = typename first_of<X...>::type;

/// The first position whose id stands again later, N if none does. Loops over an array's own size: nvcc warns of one
/// over an empty pack's.
template <std::size_t N>
constexpr std::size_t first_repeated(std::array<std::uint64_t, N> const& ids) {
  for (std::size_t j = 0; j < ids.size(); ++j)
    for (std::size_t i = 0; i < j; ++i)
      if (ids[i] == ids[j]) return i;
  return N;
}

}  // namespace mtf::detail
