// What relayouts send is the least: no sequence of up to three collectives sends fewer bytes, or as many in fewer
// calls, from any way in which dimensions can lie on two axes to any other one.
#include "all_ways.hpp"

template <class C>
inline constexpr auto moves = laws::all_moves<C::mesh.size()>(C::mesh, ways<C>);

struct sends_the_least {
  template <class C, std::size_t From, std::size_t To>
  static constexpr bool holds() {
    return std::bool_constant<laws::is_least(C::mesh, ways<C>, moves<C>, From, To)>::value;
  }
};
struct gathers_for_good {
  template <class C, std::size_t From, std::size_t To>
  static constexpr bool holds() {
    return std::bool_constant<laws::gathers_for_good(
        mtf::detail::derive_relayout(C::mesh, way<C, From>, way<C, To>))>::value;
  }
};
struct long_and_short : square {
  static constexpr auto mesh = by_hand::mesh({2, 4});
  static constexpr auto shape = by_hand::of({{1, 8}, {2, 8}});
};
static_assert(always<sends_the_least, square> && always<gathers_for_good, square>);
static_assert(always<sends_the_least, nodes> && always<gathers_for_good, nodes>);
static_assert(always<sends_the_least, uneven> && always<gathers_for_good, uneven>);
static_assert(always<sends_the_least, long_and_short> && always<gathers_for_good, long_and_short>);
static_assert(always<sends_the_least, indivisible>);
static_assert(always<sends_the_least, line>);
