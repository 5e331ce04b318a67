#pragma once
// Laws for all pairs of ways to lie on a mesh, each pair a constant of its own: compilers limit the work on one.
#include <utility>

#include <support/relayout_laws.hpp>

#include "shardings.hpp"

/// A Case has a mesh, a shape (a sharding without splits), at least as many ways as there are (most), and the number of
/// elements.
template <class Case>
inline constexpr auto ways = laws::all_ways<Case::most>(Case::mesh, Case::shape);
template <class Case, std::size_t I>
inline constexpr auto const& way = ways<Case>.at[I];

/// Law::holds<From, To>() for all relayouts.
template <class Law, class Case, std::size_t From, std::size_t To>
constexpr bool law_holds() {
  if constexpr (laws::is_relayout(way<Case, From>, way<Case, To>))
    return Law::template holds<Case, From, To>();
  else
    return true;
}
template <class Law, class Case, std::size_t From, std::size_t... To>
constexpr bool law_holds_from(std::index_sequence<To...>) {
  return (law_holds<Law, Case, From, To>() && ...);
}
template <class Law, class Case, std::size_t... From>
constexpr bool law_holds_for_all(std::index_sequence<From...> all) {
  return (law_holds_from<Law, Case, From>(all) && ...);
}
template <class Law, class Case>
constexpr bool always =
    law_holds_for_all<Law, Case>(std::make_index_sequence<static_cast<std::size_t>(ways<Case>.size)>{});

struct square {
  static constexpr auto mesh = by_hand::mesh({2, 2});
  static constexpr auto shape = by_hand::of({{1, 4}, {2, 4}});
  static constexpr int most = 18, elements = 16;
};
struct nodes : square {
  static constexpr auto mesh = by_hand::mesh({2, 2}, 0b10);  // the second axis inside a node
};
struct uneven {
  static constexpr auto mesh = by_hand::mesh({2, 3});
  static constexpr auto shape = by_hand::of({{1, 6}, {2, 6}});
  static constexpr int most = 18, elements = 36;
};
struct indivisible {  // not every axis divides every dimension, and none the one between
  static constexpr auto mesh = by_hand::mesh({2, 3});
  static constexpr auto shape = by_hand::of({{1, 6}, {2, 1}, {3, 3}});
  static constexpr int most = 18, elements = 18;
};
struct line {
  static constexpr auto mesh = by_hand::mesh({2, 3});
  static constexpr auto shape = by_hand::of({{1, 6}});
  static constexpr int most = 10, elements = 6;
};
static_assert(ways<square>.size == 18 && ways<uneven>.size == 18 && ways<indivisible>.size == 13 &&
              ways<line>.size == 10);
