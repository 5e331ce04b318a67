// Contractions: what is partial in them, and how shards become matrix products, with as few copies as possible.
#include <mtf/ops/contraction/einsum.hpp>

#include "contractions.hpp"

using by_hand::copies_nothing;
using by_hand::of;
using mtf::sharding;
using mtf::detail::derive_einsum;
using mtf::detail::derive_local_einsum;
using trouble = mtf::detail::finding::kind;

constexpr auto one = by_hand::mesh({}), mesh = by_hand::mesh({2, 2});

// --- partial results

// Dimensions 1 (rows of a), 2 (contracted), 3 (columns of b).
constexpr auto rule(sharding const& a, sharding const& b, sharding const& c) { return derive_einsum(a, b, c); }
constexpr sharding a0 = of({{1, 4}, {2, 4}}), b0 = of({{2, 4}, {3, 4}}), c0 = of({{1, 4}, {3, 4}});
constexpr sharding a_k = of({{1, 4}, {2, 4, {0}}}), b_k = of({{2, 4, {0}}, {3, 4}});
constexpr auto row_parallel = rule(a_k, b_k, c0);
static_assert(row_parallel.wrong.what == trouble::none && row_parallel.out.partial == 0b01);
constexpr auto two_axes = rule(of({{1, 4}, {2, 4, {1, 0}}}), of({{2, 4, {1, 0}}, {3, 4}}), c0);
static_assert(two_axes.out.partial == 0b11);
constexpr auto column_parallel = rule(a0, of({{2, 4}, {3, 4, {0}}}), of({{1, 4}, {3, 4, {0}}}));
static_assert(column_parallel.out.partial == 0);
constexpr sharding a_partial = of({{1, 4}, {2, 4}}, 0b10), b_partial = of({{2, 4}, {3, 4}}, 0b10);
static_assert(rule(a_partial, b0, c0).out.partial == 0b10 && rule(a_partial, b0, c0).complete[0] == 0);
static_assert(rule(a_partial, b_partial, c0).out.partial == 0 && rule(a_partial, b_partial, c0).complete[0] == 0b10 &&
              rule(a_partial, b_partial, c0).complete[1] == 0b10);
constexpr auto varies = rule(a_partial, of({{2, 4}, {3, 4, {1}}}), of({{1, 4}, {3, 4, {1}}}));
static_assert(varies.out.partial == 0 && varies.complete[0] == 0b10, "b varies along the axis");
constexpr auto together = rule(of({{1, 4}, {2, 4, {0}}}, 0b10), b_k, c0);
static_assert(together.out.partial == 0b11 && together.complete[0] == 0);
static_assert(rule(a_k, b0, c0).wrong.what == trouble::splits &&
              rule(a0, of({{2, 6}, {3, 4}}), c0).wrong.what == trouble::extents);
constexpr auto crossed = rule(of({{1, 4, {0}}, {2, 4}}), of({{2, 4}, {3, 4, {0}}}), c0);
static_assert(crossed.wrong.what == trouble::two_dims_on_axis && crossed.wrong.axis == 0);

// --- matrix products

// Every storage order of a[p, i, k] b[p, k, j] -> c[p, i, j], p a batch: the numbers are right.
constexpr by_hand::split_dim p{1, 2}, i{2, 3}, k{3, 2}, j{4, 3};
constexpr sharding in_order(int n, by_hand::split_dim const& x, by_hand::split_dim const& y,
                            by_hand::split_dim const& z) {
  switch (n) {
    case 0:
      return of({x, y, z});
    case 1:
      return of({x, z, y});
    case 2:
      return of({y, x, z});
    case 3:
      return of({y, z, x});
    case 4:
      return of({z, x, y});
    default:
      return of({z, y, x});
  }
}
template <int A, int C>
constexpr bool orders_hold() {
  for (int b = 0; b < 6; ++b) {
    by_hand::derived const d{one, in_order(A, p, i, k), in_order(b, p, k, j), in_order(C, p, i, j)};
    if (!well_formed(d) || !computes(d)) return false;
  }
  return true;
}
template <int A, int C>
inline constexpr bool order_holds = orders_hold<A, C>();  // a constant each: compilers limit one evaluation
template <int... N>
constexpr bool all_orders_hold(std::integer_sequence<int, N...>) {
  return (order_holds<N / 6, N % 6> && ...);
}
static_assert(all_orders_hold(std::make_integer_sequence<int, 36>{}));

// Plain matrices need no copy, however they are stored.
constexpr bool no_copies(sharding const& a, sharding const& b, sharding const& c) {
  by_hand::derived const d{one, a, b, c};
  return well_formed(d) && computes(d) && copies_nothing(d.work);
}
static_assert(no_copies(of({i, k}), of({k, j}), of({i, j})) && no_copies(of({k, i}), of({k, j}), of({i, j})));
static_assert(no_copies(of({i, k}), of({j, k}), of({i, j})) && no_copies(of({k, i}), of({j, k}), of({i, j})));
static_assert(no_copies(of({i, k}), of({k, j}), of({j, i})) && no_copies(of({k, i}), of({j, k}), of({j, i})),
              "swapped");
static_assert(no_copies(of({i, k}), of({k}), of({i})) && no_copies(of({k}), of({k, j}), of({j})), "matrix by vector");
static_assert(no_copies(of({k}), of({k}), of({})) && no_copies(of({i}), of({j}), of({i, j})), "dot and outer product");
static_assert(no_copies(of({p, i, k}), of({k, j}), of({p, i, j})), "p and i are one loop");
static_assert(derive_local_einsum(one, of({p, i, k}), of({k, j}), of({p, i, j})).work.m == 6 &&
              derive_local_einsum(one, of({p, i, k}), of({k, j}), of({p, i, j})).work.batch.size() == 1);
static_assert(no_copies(of({i, p, k}), of({p, k, j}), of({p, i, j})), "a strided batch");

// What cannot be strided is copied, and no more than that.
constexpr by_hand::split_dim k1{5, 2}, k2{6, 3};
constexpr auto torn = derive_local_einsum(one, of({k1, i, k2}), of({k1, k2, j}), of({i, j}));
static_assert(torn.copy_a && !torn.copy_b && !torn.copy_c, "two contracted dimensions that lie apart in a");
static_assert(computes(by_hand::derived{one, of({k1, i, k2}), of({k1, k2, j}), of({i, j})}));
constexpr auto inner_batch = derive_local_einsum(one, of({i, k, p}), of({p, k, j}), of({p, i, j}));
static_assert(inner_batch.copy_a && !inner_batch.copy_b && !inner_batch.copy_c, "no stride of a's matrices is 1");
constexpr auto inner_result = derive_local_einsum(one, of({p, i, k}), of({p, k, j}), of({i, j, p}));
static_assert(!inner_result.copy_a && !inner_result.copy_b && inner_result.copy_c, "nor of c's");
constexpr auto whole_k = derive_local_einsum(one, of({k1, i, k2}), of({k2, k1, j}), of({i, j}));
static_assert(whole_k.copy_a + whole_k.copy_b + whole_k.copy_c == 1 + (whole_k.copy_b ? 1 : 0));
static_assert(computes(by_hand::derived{one, of({k1, i, k2}), of({k2, k1, j}), of({i, j})}));

// A dimension of one element on this rank does not hinder: split over both axes, k1 is gone.
constexpr by_hand::split_dim k1_split{5, 2, {0}};
static_assert(copies_nothing(derive_local_einsum(mesh, of({k1_split, i, k2}), of({k1_split, k2, j}), of({i, j}))));
static_assert(computes(by_hand::derived{mesh, of({k1_split, i, k2}), of({k1_split, k2, j}), of({i, j})}));

// --- the order of several contractions

using mtf::detail::best_order;
constexpr by_hand::split_dim big{1, 100}, small{2, 2}, middle{3, 50}, last{4, 3};
constexpr auto chain = best_order<3>(one, {of({big, small}), of({small, middle}), of({middle, last})}, of({big, last}));
static_assert(chain.first == 1 && chain.second == 2 && chain.cost == 2 * 50 * 3 + 100 * 2 * 3);
constexpr auto other_chain =
    best_order<3>(one, {of({last, middle}), of({middle, small}), of({small, big})}, of({last, big}));
static_assert(other_chain.first == 0 && other_chain.second == 1 && other_chain.cost == 3 * 50 * 2 + 3 * 2 * 100);
constexpr auto shards = best_order<3>(
    mesh, {of({{1, 100, {0}}, small}), of({small, {3, 50, {1}}}), of({{3, 50, {1}}, last})}, of({{1, 100, {0}}, last}));
static_assert(shards.cost == 2 * 25 * 3 + 50 * 2 * 3, "what one rank does counts");
constexpr auto four =
    best_order<4>(one, {of({big, small}), of({small, big}), of({big, small}), of({small, last})}, of({big, last}));
static_assert(four.cost <= 2 * 100 * 2 + 2 * 2 * 3 + 100 * 2 * 3);
