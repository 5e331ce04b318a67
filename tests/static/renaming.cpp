// Verdicts and rules under other names, and with operands in another order (tests/support/rule_laws.hpp): all ways in
// which two operands may be split by two axes, right or wrong, and the sums over them that the first may be of.
#include <support/rule_laws.hpp>
#include <utility>

using mtf::axis_mask;

constexpr bool holds(int first, int second) {
  for (int third = 0; third < laws::ways_to_split_by_two; ++third)
    for (int fourth = 0; fourth < laws::ways_to_split_by_two; ++fourth) {
      auto const partial = static_cast<axis_mask>(first + second + third + fourth);
      auto const in = laws::two_operands({first, second, third, fourth}, {partial & 3U, (partial >> 1U) & 3U});
      if (!laws::named_alike(in, laws::renamings[0]) || !laws::named_alike(in, laws::renamings[1]) ||
          !laws::ordered_alike(in))
        return false;
    }
  return true;
}
template <int... I>
constexpr bool all_hold(std::integer_sequence<int, I...>) {
  return (std::bool_constant<holds(I / laws::ways_to_split_by_two, I % laws::ways_to_split_by_two)>::value && ...);
}
static_assert(all_hold(std::make_integer_sequence<int, laws::ways_to_split_by_two * laws::ways_to_split_by_two>{}));

/// Operands that are split alike, with all sums.
constexpr bool holds_partial(axis_mask first, axis_mask second) {
  auto const in = laws::two_operands({1, 0, 0, 0}, {first, second});
  return laws::named_alike(in, laws::renamings[1]) && laws::named_alike(in, laws::renamings[4]) &&
         laws::ordered_alike(in);
}
template <axis_mask... I>
constexpr bool all_hold_partial(std::integer_sequence<axis_mask, I...>) {
  return (std::bool_constant<holds_partial(I / 8U, I % 8U)>::value && ...);
}
static_assert(all_hold_partial(std::make_integer_sequence<axis_mask, 64>{}));

// One name with two extents.
static_assert(laws::named_alike(laws::two_operands({1, 2, 2, 0}, {0, 0}, 12), laws::renamings[1]) &&
              laws::ordered_alike(laws::two_operands({1, 2, 2, 0}, {0, 0}, 12)));
