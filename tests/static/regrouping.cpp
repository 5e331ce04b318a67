// What one dimension as two, or two as one, sends.
#include <mtf/mtf.hpp>
#include <mtf/ops/movement.hpp>

namespace {

struct rows : mtf::dim<"rows", 8> {};
struct n : mtf::dim<"n", 64> {};
struct outer : mtf::dim<"outer", 4> {};
struct inner : mtf::dim<"inner", 16> {};
struct p : mtf::axis<"p", 4> {};
struct q : mtf::axis<"q", 2> {};
struct r : mtf::axis<"r", 8> {};

template <class Mesh, class... Split>
constexpr auto splits = mtf::plan_of<mtf::layout<Mesh, Split...>>(
    [](auto const& x) { return mtf::split_dim<n, outer, inner>(x); }, mtf::input<float, rows, n>{});
template <class Mesh, class... Split>
constexpr auto merges = mtf::plan_of<mtf::layout<Mesh, Split...>>(
    [](auto const& x) { return mtf::merge_dims<outer, inner, n>(x); }, mtf::input<float, rows, outer, inner>{});

using mtf::collective_kind, mtf::pass, mtf::split;

/// Both ways the same one collective.
template <class Mesh, class... Split>
constexpr bool sends(collective_kind kind, std::uint64_t bytes) {
  auto const &s = splits<Mesh, Split...>, &m = merges<Mesh, Split...>;
  return s.count() == 1 && s.count(kind) == 1 && s.bytes_sent_per_rank(pass::forward) == bytes && m.count() == 1 &&
         m.bytes_sent_per_rank(pass::forward) == bytes;
}
template <class Mesh, class... Split>
constexpr bool sends_nothing = splits<Mesh, Split...>.count() == 0 && merges<Mesh, Split...>.count() == 0;

// 64 over 4 is 4 x 16 over 4: a rank has one row of 16.
using four = mtf::mesh<p>;
static_assert(sends_nothing<four>);
static_assert(sends_nothing<four, split<rows, p>>);
static_assert(sends_nothing<four, split<n, p>, split<outer, p>>);
// Over 8 a rank has half a row: outer over 4 of the ranks, inner over the others.
using two = mtf::mesh<p, q>;
static_assert(sends_nothing<two, split<n, p, q>, split<outer, p>, split<inner, q>>);
static_assert(sends_nothing<two, split<n, p>, split<outer, p>, split<rows, q>>);
// Of a rank's 8 x 16 elements each other one of four gets a fourth.
static_assert(sends<four, split<n, p>, split<inner, p>>(collective_kind::all_to_all, 8 * 16 * 4 * 3 / 4));
// One axis of 8 would split outer and inner both.
using eight = mtf::mesh<r>;
static_assert(splits<eight, split<n, r>, split<inner, r>>.count(collective_kind::all_gather) == 1);
static_assert(splits<eight, split<inner, r>>.count() == 0);
// Of the ways the one that sends least: a permute brings n to p and q, which are outer's and inner's; gathering it
// whole would also do.
static_assert(sends<mtf::mesh<r, p, q>, split<n, r>, split<outer, p>, split<inner, q>>(collective_kind::permute,
                                                                                       8 * 64 / 8 * 4));

}  // namespace
