// The verdicts' types under other names: what is said of dimensions and axes is said of those that they became.
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/mtf.hpp>

namespace {

// Two worlds: the same extents under names that are neither alike nor in the same order.
struct here {
  struct d : mtf::dim<"d", 24> {};
  struct e : mtf::dim<"e", 24> {};
  struct f : mtf::dim<"f", 24> {};
  struct a : mtf::axis<"a", 2> {};
  struct b : mtf::axis<"b", 3> {};
};
struct there {
  struct d : mtf::dim<"zebra", 24> {};
  struct e : mtf::dim<"a", 24> {};
  struct f : mtf::dim<"heads", 24> {};
  struct a : mtf::axis<"d", 2> {};
  struct b : mtf::axis<"a", 3> {};
};

/// A type of `here` as it is called `there`.
template <class T>
struct renamed {
  using type = T;
};
template <>
struct renamed<here::d> {
  using type = there::d;
};
template <>
struct renamed<here::e> {
  using type = there::e;
};
template <>
struct renamed<here::f> {
  using type = there::f;
};
template <>
struct renamed<here::a> {
  using type = there::a;
};
template <>
struct renamed<here::b> {
  using type = there::b;
};
template <template <class...> class V, class... T>
struct renamed<V<T...>> {
  using type = V<typename renamed<T>::type...>;
};
template <class T>
using renamed_t = typename renamed<T>::type;

template <class W, class D, int Split>
using rule = std::tuple_element_t<
    static_cast<std::size_t>(Split),
    std::tuple<void, mtf::split<D, typename W::a>, mtf::split<D, typename W::b>,
               mtf::split<D, typename W::a, typename W::b>, mtf::split<D, typename W::b, typename W::a>>>;
constexpr int splits = 5;

template <class W, class D, class E, int I, int J>
auto layout_of() {
  using mesh = mtf::mesh<typename W::a, typename W::b>;
  if constexpr (I == 0 && J == 0)
    return mtf::layout<mesh>{};
  else if constexpr (I == 0)
    return mtf::layout<mesh, rule<W, E, J>>{};
  else if constexpr (J == 0)
    return mtf::layout<mesh, rule<W, D, I>>{};
  else
    return mtf::layout<mesh, rule<W, D, I>, rule<W, E, J>>{};
}
template <class W, class D, class E, int I, int J>
struct tensor {
  using shape_type = mtf::shape<D, E>;
  using layout_type = decltype(layout_of<W, D, E, I, J>());
  using mesh_type = mtf::mesh<typename W::a, typename W::b>;
  static constexpr auto spec = mtf::detail::sharding_of<shape_type, layout_type>;
};
template <class W, int Which>
using partial =
    std::tuple_element_t<static_cast<std::size_t>(Which),
                         std::tuple<mtf::partial<>, mtf::partial<typename W::a>, mtf::partial<typename W::b>,
                                    mtf::partial<typename W::a, typename W::b>>>;

template <int I, int J, int P>
struct one {
  template <class W>
  using of = tensor<W, typename W::d, typename W::e, I, J>;
  template <class W>
  using verdict = mtf::tensor_verdict_t<typename of<W>::shape_type, typename of<W>::layout_type, partial<W, P>>;
  static constexpr bool alike = std::is_same_v<renamed_t<verdict<here>>, verdict<there>>;
};
struct says_nothing {};
template <int I, int J, int K, int L>
struct two {
  template <class W>
  static auto verdict() {
    using x = tensor<W, typename W::d, typename W::e, I, J>;
    using y = tensor<W, typename W::e, typename W::f, K, L>;
    return mtf::detail::operands_verdict<says_nothing, x, y>();
  }
  static constexpr bool alike = std::is_same_v<renamed_t<decltype(verdict<here>())>, decltype(verdict<there>())>;
};

template <int... N>
constexpr bool ones_alike(std::integer_sequence<int, N...>) {
  return (one<N / (4 * splits), N / 4 % splits, N % 4>::alike && ...);
}
template <int First, int... N>
constexpr bool twos_alike_from(std::integer_sequence<int, N...>) {
  return (two<First / splits, First % splits, N / splits, N % splits>::alike && ...);
}
template <int... First>
constexpr bool twos_alike(std::integer_sequence<int, First...> all) {
  return (twos_alike_from<First>(all) && ...);
}
static_assert(ones_alike(std::make_integer_sequence<int, 4 * splits * splits>{}));
static_assert(twos_alike(std::make_integer_sequence<int, splits * splits>{}));
// Not all of them are ok.
static_assert(
    std::is_same_v<one<1, 1, 0>::verdict<there>, mtf::error_two_dims_on_one_axis<there::d, there::e, there::a>>);
static_assert(std::is_same_v<one<0, 2, 2>::verdict<there>, mtf::error_dim_split_where_partial<there::e, there::b>>);
static_assert(
    std::is_same_v<decltype(two<1, 0, 2, 1>::verdict<there>()),
                   mtf::error_split_differently<there::e, tensor<there, there::d, there::e, 1, 0>::layout_type,
                                                tensor<there, there::e, there::f, 2, 1>::layout_type>>);

}  // namespace
