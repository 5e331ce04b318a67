// From a to b to c is the same tensor as from a to c, for every three ways in which one dimension can lie on two axes,
// and for two dimensions if the tensor is partial over both axes at first. (tests/local takes all ways of two
// dimensions.)
#include "all_ways.hpp"

/// What all ranks hold after one relayout.
template <class C, std::size_t From, std::size_t To>
constexpr auto relaid() {
  auto s = laws::shards_of<C::elements, C::mesh.size()>(C::mesh, way<C, From>);
  bool const done = laws::carry_out(C::mesh, mtf::detail::derive_relayout(C::mesh, way<C, From>, way<C, To>), s);
  return std::pair(done, s);
}
template <class C, std::size_t From, std::size_t To>
inline constexpr auto after = relaid<C, From, To>();

template <class C, std::size_t First, std::size_t By, std::size_t To>
constexpr bool composes_by() {
  auto s = after<C, First, By>.second;
  return after<C, First, By>.first && after<C, First, To>.first &&
         laws::carry_out(C::mesh, mtf::detail::derive_relayout(C::mesh, way<C, By>, way<C, To>), s) &&
         laws::equal(C::mesh, s, after<C, First, To>.second);
}
template <std::size_t First>
struct composes {
  template <class C, std::size_t By, std::size_t To>
  static constexpr bool holds() {
    if constexpr (laws::is_relayout(way<C, First>, way<C, By>))
      return std::bool_constant<composes_by<C, First, By, To>()>::value;
    else
      return true;
  }
};
template <class Case, std::size_t... First>
constexpr bool all_compose(std::index_sequence<First...>) {
  return (always<composes<First>, Case> && ...);
}
static_assert(all_compose<line>(std::make_index_sequence<10>{}));

struct plane {
  static constexpr auto mesh = by_hand::mesh({2, 2});
  static constexpr auto shape = by_hand::of({{1, 4}, {2, 2}});
  static constexpr int most = 18, elements = 8;
};
constexpr std::size_t sum_over_both = [] {
  std::size_t i = 0;
  while (ways<plane>.at[i].partial != 0b11) ++i;
  return i;
}();
static_assert(always<composes<sum_over_both>, plane>);
