// What movements along a split dimension send, as constants of plans.
#include "names.hpp"

#include <cstdint>

#include <mtf/ops/indexing.hpp>
#include <mtf/ops/movement.hpp>

using mtf::collective_kind;

struct along : mtf::dim<"along", 64> {};
struct longer : mtf::dim<"longer", 128> {};
struct half : mtf::dim<"half", 32> {};
constexpr std::uint64_t row = 10 * sizeof(float);

/// With each of these dimensions split in four.
template <class... D>
constexpr auto planned(auto const& f) {
  return mtf::plan_of<mtf::layout<machine, mtf::split<D, cols>...>>(f, mtf::input<float, along, digit>{},
                                                                    mtf::input<float, along, digit>{});
}

// Less than a shard crosses to the neighbour; more goes in two permutes.
constexpr auto by_3 = planned<along>([](auto const& x, auto const&) { return mtf::roll<along>(x, 3); });
static_assert(by_3.count() == 1 && by_3.collectives[0].kind == collective_kind::permute);
static_assert(by_3.bytes_sent_per_rank() == 3 * row);
constexpr auto by_19 = planned<along>([](auto const& x, auto const&) { return mtf::roll<along>(x, -19); });
static_assert(by_19.count() == 2 && by_19.bytes_sent_per_rank() == 16 * row);
constexpr auto shifted = planned<along>([](auto const& x, auto const&) { return mtf::shift<along>(x, -3); });
static_assert(shifted.count() == 1 && shifted.bytes_sent_per_rank() == 3 * row);
static_assert(planned<along>([](auto const& x, auto const&) { return mtf::roll<along>(x, 64); }).count() == 0);
constexpr auto turned = planned<along>([](auto const& x, auto const&) { return mtf::reverse<along>(x); });
static_assert(turned.count() == 1 && turned.bytes_sent_per_rank() == 16 * row);

// Of two, each split in four, a rank wants two shards: not the three of each that it lacks.
constexpr auto joined =
    planned<along, longer>([](auto const& x, auto const& y) { return mtf::concat<longer, along, along>(x, y); });
static_assert(joined.count(collective_kind::all_gather) == 0 && joined.bytes_sent_per_rank() == 2 * 16 * row);

// Every other position of a rank's own, and its neighbour's.
constexpr auto second =
    planned<along, half>([](auto const& x, auto const&) { return mtf::slice<along, half>(x, 0, 2); });
static_assert(second.count() == 0);

static_assert(planned<along, longer>([](auto const& x, auto const&) {
                return mtf::pad<along, longer>(x, 0);
              }).bytes_sent_per_rank() <= 3 * 16 * row);
