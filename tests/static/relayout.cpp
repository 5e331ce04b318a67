// Each row of the table of what communicates (docs/design/states.md, "What relayouts send"), with the steps that are
// derived for it.
#include <initializer_list>

#include <mtf/detail/sharding/relayout_rule.hpp>

#include "shardings.hpp"

using by_hand::of;
using mtf::axis_mask;
using mtf::sharding;
using mtf::detail::derive_relayout;
using kind = mtf::detail::step_kind;

constexpr int a = 0, b = 1;
constexpr axis_mask over_a = 0b01, over_b = 0b10;
constexpr auto mesh = by_hand::mesh({2, 2}), uneven = by_hand::mesh({2, 3}), nodes = by_hand::mesh({2, 2}, over_b);

struct expected {
  kind what;
  axis_mask axes;
  axis_mask inner_axes = 0;
};
constexpr bool gives(mtf::mesh_shape const& m, sharding const& from, sharding const& to,
                     std::initializer_list<expected> steps) {
  auto const derived = derive_relayout(m, from, to);
  if (derived.size != static_cast<int>(steps.size())) return false;
  int i = 0;
  for (auto const& s : steps) {
    auto const& d = derived[i++];
    if (d.kind != s.what || d.axes != s.axes || d.inner_axes != s.inner_axes) return false;
  }
  return true;
}

// Two dimensions, 1 and 2, both divisible by all axes.
constexpr sharding whole = of({{1, 12}, {2, 12}}), d_a = of({{1, 12, {a}}, {2, 12}}), d_b = of({{1, 12, {b}}, {2, 12}});
constexpr sharding e_a = of({{1, 12}, {2, 12, {a}}}), e_b = of({{1, 12}, {2, 12, {b}}});
constexpr sharding d_a_e_b = of({{1, 12, {a}}, {2, 12, {b}}}), d_b_e_a = of({{1, 12, {b}}, {2, 12, {a}}});
constexpr sharding d_ab = of({{1, 12, {a, b}}, {2, 12}}), d_ba = of({{1, 12, {b, a}}, {2, 12}});
constexpr sharding sum(sharding s, axis_mask partial) {
  s.partial = partial;
  return s;
}

// partial over a -> replicated: all-reduce
static_assert(gives(mesh, sum(whole, over_a), whole, {{kind::all_reduce, over_a}}));
static_assert(gives(mesh, sum(d_b, over_a), d_b, {{kind::all_reduce, over_a}}));
static_assert(gives(mesh, sum(whole, over_a | over_b), whole, {{kind::all_reduce, over_a | over_b}}));
static_assert(gives(mesh, sum(whole, over_a | over_b), sum(whole, over_b), {{kind::all_reduce, over_a}}));
// partial over a -> split over a: reduce-scatter
static_assert(gives(mesh, sum(whole, over_a), d_a, {{kind::reduce_scatter, over_a}}));
static_assert(gives(mesh, sum(whole, over_a), e_a, {{kind::reduce_scatter, over_a}}));
static_assert(gives(mesh, sum(d_a, over_b), d_ab, {{kind::reduce_scatter, over_b}}));
static_assert(gives(mesh, sum(whole, over_a | over_b), d_a_e_b, {{kind::reduce_scatter, over_a | over_b}}));
static_assert(gives(mesh, sum(whole, over_a | over_b), d_a,
                    {{kind::reduce_scatter, over_a}, {kind::all_reduce, over_b}}));
// split over a -> replicated: all-gather
static_assert(gives(mesh, d_a, whole, {{kind::all_gather, over_a}}));
static_assert(gives(mesh, d_ab, d_a, {{kind::all_gather, over_b}}), "the innermost split goes first");
static_assert(gives(mesh, d_ab, whole, {{kind::all_gather, over_a | over_b}}), "axes are taken together");
// replicated -> split over a: a local slice
static_assert(gives(mesh, whole, d_a, {{kind::slice, over_a}}));
static_assert(gives(mesh, whole, d_ba, {{kind::slice, over_a | over_b}}));
static_assert(gives(mesh, sum(whole, over_b), sum(d_a, over_b), {{kind::slice, over_a}}));
// d split over a -> e split over a: all-to-all
static_assert(gives(mesh, d_a, e_a, {{kind::all_to_all, over_a}}) &&
              gives(mesh, e_a, d_a, {{kind::all_to_all, over_a}}));
static_assert(gives(mesh, d_ab, d_a_e_b, {{kind::all_to_all, over_b}}) &&
              gives(mesh, d_a_e_b, d_ab, {{kind::all_to_all, over_b}}));
static_assert(gives(mesh, sum(d_a, over_b), sum(e_a, over_b), {{kind::all_to_all, over_a}}), "the sum is not taken");
static_assert(gives(mesh, d_ab, of({{1, 12}, {2, 12, {b, a}}}), {{kind::all_to_all, over_a | over_b}}));
static_assert(gives(mesh, d_ab, e_a, {{kind::all_to_all, over_a | over_b}}), "with an all-gather over b");
static_assert(gives(mesh, d_a, of({{1, 12}, {2, 12, {a, b}}}), {{kind::all_to_all, over_a}}), "with a slice over b");
// split over a -> split over b: a permute; where the axes differ in size, of slices, and then a gather
static_assert(gives(mesh, d_a, d_b, {{kind::permute, over_a | over_b}}) &&
              gives(mesh, e_b, e_a, {{kind::permute, over_a | over_b}}));
static_assert(gives(mesh, d_ab, d_ba, {{kind::permute, over_a | over_b}}));
static_assert(gives(uneven, d_ab, d_ba, {{kind::permute, over_a | over_b}}), "as many parts");
static_assert(gives(uneven, d_a, d_b,
                    {{kind::slice, over_b}, {kind::permute, over_a | over_b}, {kind::all_gather, over_a}}));
static_assert(gives(by_hand::mesh({2, 4}), of({{1, 4, {a}}}), of({{1, 4, {b}}}),
                    {{kind::all_gather, over_a}, {kind::slice, over_b}}),
              "8 slices cannot be made of 4 elements");
// partial over a and b, b inside a node -> replicated
static_assert(gives(nodes, sum(whole, over_a | over_b), whole, {{kind::scattered_all_reduce, over_a, over_b}}));
static_assert(gives(nodes, sum(whole, over_b), whole, {{kind::all_reduce, over_b}}), "inside a node alone");
static_assert(gives(nodes, sum(whole, over_a), whole, {{kind::all_reduce, over_a}}), "between nodes alone");
static_assert(gives(nodes, sum(of({{1, 3}}), over_a | over_b), of({{1, 3}}), {{kind::all_reduce, over_a | over_b}}),
              "3 elements cannot be scattered over 2 ranks");
// nothing -> nothing
static_assert(gives(mesh, d_a_e_b, d_a_e_b, {}) && gives(mesh, sum(d_a, over_b), sum(d_a, over_b), {}));
// Together: what makes the tensor smaller goes first.
static_assert(gives(mesh, sum(whole, over_a), d_a_e_b, {{kind::slice, over_b}, {kind::reduce_scatter, over_a}}));
static_assert(gives(mesh, sum(d_b, over_a), e_a, {{kind::reduce_scatter, over_a}, {kind::all_gather, over_b}}));
static_assert(gives(mesh, d_a, d_b_e_a, {{kind::all_to_all, over_a}, {kind::slice, over_b}}));
// The row-parallel product of Megatron, then the sequence split: reduce-scatter one way, all-gather the other.
constexpr sharding by_sequence = of({{1, 64, {a}}, {2, 32, {b}}, {3, 128}}),
                   by_batch = of({{1, 64, {a}}, {2, 32}, {3, 128}});
static_assert(gives(mesh, sum(by_batch, over_b), by_sequence, {{kind::reduce_scatter, over_b}}));
static_assert(gives(mesh, by_sequence, by_batch, {{kind::all_gather, over_b}}));

constexpr auto scatter = derive_relayout(mesh, sum(by_batch, over_b), by_sequence)[0];
static_assert(scatter.parts == 2 && scatter.after == by_sequence);
static_assert(scatter.elements_in == 32 * 32 * 128 && scatter.elements_out == 32 * 16 * 128);
constexpr auto gather = derive_relayout(mesh, by_sequence, by_batch)[0];
static_assert(gather.parts == 2 && gather.after == by_batch);
static_assert(gather.elements_in == 32 * 16 * 128 && gather.elements_out == 32 * 32 * 128);

// What one rank sends, as a function of n, its elements before, and the extents p and q of a and b.
constexpr bool sends(mtf::mesh_shape const& m, sharding const& from, sharding const& to, std::uint64_t elements) {
  return bytes_of(derive_relayout(m, from, to), m, 4) == 4 * elements;
}
constexpr bool table_holds(int extent_a, int extent_b) {
  auto const p = static_cast<std::uint64_t>(extent_a), q = static_cast<std::uint64_t>(extent_b);
  auto const m = by_hand::mesh({extent_a, extent_b}), node = by_hand::mesh({extent_a, extent_b}, over_a);
  std::uint64_t const all = 144 * 144;  // elements, which p * q divides
  auto const with = [](std::initializer_list<int> d, std::initializer_list<int> e, axis_mask partial = 0) {
    return of({{1, 144, d}, {2, 144, e}}, partial);
  };
  std::uint64_t const n = all / p;  // a shard split over a
  bool const partial = sends(m, with({}, {}, over_a), with({}, {}), 2 * all * (p - 1) / p) &&
                       sends(m, with({}, {}, over_a), with({a}, {}), all * (p - 1) / p) &&
                       sends(m, with({}, {}, over_a), with({}, {a, b}), all / q * (p - 1) / p) &&
                       sends(m, with({}, {}, over_a | over_b), with({}, {}), 2 * all * (p * q - 1) / (p * q)) &&
                       sends(m, with({}, {}, over_a | over_b), with({a}, {b}), all * (p * q - 1) / (p * q)) &&
                       sends(m, with({}, {}, over_a | over_b), with({a}, {}), all * (p - 1) / p + 2 * n * (q - 1) / q);
  bool const split = sends(m, with({a}, {}), with({}, {}), n * (p - 1)) &&
                     sends(m, with({a, b}, {}), with({}, {}), n / q * (p * q - 1)) &&
                     sends(m, with({}, {}), with({a}, {b}), 0) && sends(m, with({a}, {}), with({a}, {b}), 0) &&
                     sends(m, with({a}, {}), with({}, {a}), n * (p - 1) / p) &&
                     sends(m, with({a, b}, {}), with({}, {b, a}), n / q * (p * q - 1) / (p * q)) &&
                     sends(m, with({a}, {}), with({}, {a, b}), n / q * (p - 1) / p) &&
                     sends(m, with({a, b}, {}), with({}, {a}), n * (p * q - 1) / (p * q));
  bool const moved =
      sends(m, with({a}, {}), with({b}, {}), all / q) && sends(m, with({a, b}, {}), with({b, a}, {}), n / q);
  // Inside a node all, between nodes what is left of it.
  constexpr auto inner = over_a;
  auto const in_two = derive_relayout(node, with({}, {}, over_a | over_b), with({}, {}));
  bool const nodes = in_two.size == 1 && in_two[0].kind == kind::scattered_all_reduce &&
                     in_two[0].inner_axes == inner &&
                     bytes_of(in_two, node, 4) == 4 * (2 * all * (p - 1) / p + 2 * n * (q - 1) / q);
  return partial && split && moved && nodes;
}
static_assert(table_holds(2, 2) && table_holds(2, 3) && table_holds(3, 2) && table_holds(3, 3) && table_holds(2, 4) &&
              table_holds(4, 2) && table_holds(3, 4) && table_holds(4, 4) && table_holds(6, 2) && table_holds(8, 9));

// Completion keeps the splits.
static_assert(mtf::detail::derive_completion(mesh, d_a, over_b).size == 1 &&
              mtf::detail::derive_completion(mesh, d_a, over_b)[0].kind == kind::all_reduce &&
              mtf::detail::derive_completion(mesh, d_a, 0).size == 0);
