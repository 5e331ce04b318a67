#pragma once
// Collectives against their closed forms, for any backend between ranks: each check is called by all ranks of a mesh
// with a set of its axes and the ranks of the caller's group.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>

namespace collectives_checks {

using mtf::axis_mask;
using mtf::bfloat16;
using mtf::collective_kind;
using mtf::combine;
using mtf::mesh_shape;

// bool's bytes: std::vector<bool> has no data().
template <class T>
using stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;
template <class T>
using buffer = std::vector<stored<T>>;

// Small integers: sums over 8 ranks are exact in bfloat16. Differs along ranks, blocks and elements.
constexpr int sample(int rank, std::size_t i) {
  auto const n = static_cast<int>(i);
  return (7 * rank + 3 * n + rank * n) % 11 - 4;
}

template <class T>
stored<T> as_stored(int x) {
  if constexpr (std::is_same_v<T, bfloat16>)
    return bfloat16(static_cast<float>(x));
  else if constexpr (std::is_same_v<T, bool>)
    return x > 2 ? 1 : 0;
  else
    return static_cast<T>(x);
}

template <class T>
buffer<T> filled(std::size_t count, std::function<stored<T>(std::size_t)> const& at) {
  buffer<T> b(count);
  for (std::size_t i = 0; i < count; ++i) b[i] = at(i);
  return b;
}
template <class T>
buffer<T> input(int rank, std::size_t count) {
  return filled<T>(count, [&](std::size_t i) { return as_stored<T>(sample(rank, i)); });
}

template <class T>
stored<T> combined(combine op, std::vector<int> const& ranks, std::size_t i) {
  using compute = std::conditional_t<std::is_same_v<T, bfloat16>, float, stored<T>>;
  auto total = static_cast<compute>(as_stored<T>(sample(ranks[0], i)));
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    auto const x = static_cast<compute>(as_stored<T>(sample(ranks[r], i)));
    if (op == combine::max || (std::is_same_v<T, bool> && op == combine::sum))
      total = std::max(total, x);
    else if (op == combine::min)
      total = std::min(total, x);
    else
      total = static_cast<compute>(total + x);
  }
  return stored<T>(total);
}

// The ranks of this rank's group in the order that the interface promises.
std::vector<int> group(mesh_shape const& mesh, int rank, axis_mask axes) {
  std::vector<int> g(static_cast<std::size_t>(mesh.size(axes)), -1);
  for (int r = 0; r < mesh.size(); ++r)
    if (mesh.group_of(r, axes) == mesh.group_of(rank, axes))
      g[static_cast<std::size_t>(mesh.index_within(r, axes))] = r;
  return g;
}

/// f(c, axes, the ranks of the caller's group along them) for all sets of axes.
template <class F>
void for_each_axes(mtf::collectives& c, F const& f) {
  for (axis_mask axes = 0; axes < (axis_mask{1} << c.mesh().ndim); ++axes) {
    CAPTURE(c.mesh().ndim);
    CAPTURE(c.mesh().extent[0]);
    CAPTURE(axes);
    CAPTURE(c.rank());
    f(c, axes, group(c.mesh(), c.rank(), axes));
  }
}

/// All collectives, with `n` elements a rank or block.
template <class T>
void all_operations(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks, std::size_t n) {
  CAPTURE(n);
  constexpr auto type = mtf::element_of<T>;
  auto const p = ranks.size();
  auto const me = static_cast<std::size_t>(c.mesh().index_within(c.rank(), axes));
  auto const in = input<T>(c.rank(), n);
  auto const wide = input<T>(c.rank(), n * p);

  for (auto const op : {combine::sum, combine::max, combine::min}) {
    auto const expected = filled<T>(n, [&](std::size_t i) { return combined<T>(op, ranks, i); });
    buffer<T> out(n), started(n), in_place = in, started_in_place = in;
    c.communicate(mtf::collective::all_reduce(axes, op, type, n), in.data(), out.data());
    CHECK(out == expected);
    c.communicate(mtf::collective::all_reduce(axes, op, type, n), in_place.data(), in_place.data());
    CHECK(in_place == expected);
    auto one = c.start(mtf::collective::all_reduce(axes, op, type, n), in.data(), started.data());
    auto two =
        c.start(mtf::collective::all_reduce(axes, op, type, n), started_in_place.data(), started_in_place.data());
    two.wait();
    one.wait();
    CHECK(started == expected);
    CHECK(started_in_place == expected);
  }

  auto const scattered = filled<T>(n, [&](std::size_t i) { return combined<T>(combine::sum, ranks, me * n + i); });
  buffer<T> out(n), started(n);
  c.communicate(mtf::collective::reduce_scatter(axes, type, n), wide.data(), out.data());
  CHECK(out == scattered);
  c.start(mtf::collective::reduce_scatter(axes, type, n), wide.data(), started.data()).wait();
  CHECK(started == scattered);

  auto const gathered = filled<T>(n * p, [&](std::size_t i) { return as_stored<T>(sample(ranks[i / n], i % n)); });
  buffer<T> all(n * p), started_all(n * p);
  c.communicate(mtf::collective::all_gather(axes, type, n), in.data(), all.data());
  CHECK(all == gathered);
  c.start(mtf::collective::all_gather(axes, type, n), in.data(), started_all.data()).wait();
  CHECK(started_all == gathered);
  buffer<T> blocks(n * p), started_blocks(n * p);  // each rank's own is there already
  for (auto* b : {&blocks, &started_blocks})
    std::copy(in.begin(), in.end(), b->begin() + static_cast<std::ptrdiff_t>(me * n));
  c.communicate(mtf::collective::all_gather(axes, type, n), blocks.data() + me * n, blocks.data());
  CHECK(blocks == gathered);
  c.start(mtf::collective::all_gather(axes, type, n), started_blocks.data() + me * n, started_blocks.data()).wait();
  CHECK(started_blocks == gathered);

  auto const exchanged =
      filled<T>(n * p, [&](std::size_t i) { return as_stored<T>(sample(ranks[i / n], me * n + i % n)); });
  buffer<T> theirs(n * p);
  c.communicate(mtf::collective::all_to_all(axes, type, n), wide.data(), theirs.data());
  CHECK(theirs == exchanged);

  auto const to = ranks[(me + 1) % p];
  auto const from = ranks[(me + p - 1) % p];
  buffer<T> shifted(n);
  c.communicate(mtf::collective::permute(axes, type, n, to, from), in.data(), shifted.data());
  CHECK(shifted == input<T>(from, n));
}

inline void groups_are_row_major(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  std::vector<std::int32_t> seen(ranks.size());
  std::int32_t const me = c.rank();
  c.communicate(mtf::collective::all_gather(axes, mtf::element::i32, 1), &me, seen.data());
  CHECK(seen == ranks);
  if (c.mesh() == mesh_shape{3, {2, 2, 2, 1, 1, 1}} && axes == 0b101U) {
    int const first = c.rank() & 0b010;
    CHECK(seen == std::vector<std::int32_t>{first, first + 1, first + 4, first + 5});
  }
}

inline void nan_wins(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  for (auto const owner : ranks)
    for (auto const op : {combine::sum, combine::max, combine::min}) {
      double const d = c.rank() == owner ? std::numeric_limits<double>::quiet_NaN() : c.rank();
      auto const f = static_cast<float>(d);
      bfloat16 const b(f);
      double d_out = 0;
      float f_out = 0;
      bfloat16 b_out(0.0F);
      c.communicate(mtf::collective::all_reduce(axes, op, mtf::element::f64, 1), &d, &d_out);
      c.communicate(mtf::collective::all_reduce(axes, op, mtf::element::f32, 1), &f, &f_out);
      c.communicate(mtf::collective::all_reduce(axes, op, mtf::element::bf16, 1), &b, &b_out);
      CHECK(std::isnan(d_out));
      CHECK(std::isnan(f_out));
      CHECK(std::isnan(static_cast<float>(b_out)));
    }
}

/// -0 is less than 0, whichever rank has it.
inline void zeros_are_ordered(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  if (ranks.size() < 2) return;
  for (auto const owner : ranks) {
    auto const check = [&]<class T>(T) {
      constexpr auto type = mtf::element_of<T>;
      for (auto const op : {combine::max, combine::min}) {
        T const mine(static_cast<float>(c.rank() == owner ? 0.0 : -0.0));
        T out(1.0F);
        c.communicate(mtf::collective::all_reduce(axes, op, type, 1), &mine, &out);
        CHECK(static_cast<float>(out) == 0);
        CHECK(std::signbit(static_cast<float>(out)) == (op == combine::min));
      }
    };
    check(float{});
    check(double{});
    check(bfloat16{});
  }
}

/// Several started operations, some over other axes, one that nobody waits for.
inline void started_operations(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  std::size_t const n = 12;
  auto const everyone = (axis_mask{1} << c.mesh().ndim) - 1U;
  auto const in = input<float>(c.rank(), n);
  buffer<float> sums(n), dropped(n), all(n * ranks.size());
  auto first = c.start(mtf::collective::all_reduce(axes, combine::sum, mtf::element::f32, n), in.data(), sums.data());
  auto second = c.start(mtf::collective::all_gather(axes, mtf::element::f32, n), in.data(), all.data());
  c.start(mtf::collective::all_reduce(everyone, combine::max, mtf::element::f32, n), in.data(), dropped.data()).reset();
  double one = 1, ranks_together = 0;
  c.communicate(mtf::collective::all_reduce(everyone, combine::sum, mtf::element::f64, 1), &one, &ranks_together);
  second.wait();
  first.wait();
  CHECK(ranks_together == c.mesh().size());
  CHECK(sums == filled<float>(n, [&](std::size_t i) { return combined<float>(combine::sum, ranks, i); }));
  CHECK(dropped == filled<float>(n, [&](std::size_t i) {
          return combined<float>(combine::max, group(c.mesh(), c.rank(), everyone), i);
        }));
  CHECK(all ==
        filled<float>(n * ranks.size(), [&](std::size_t i) { return as_stored<float>(sample(ranks[i / n], i % n)); }));
}

inline void barrier_and_any(mtf::collectives& c, axis_mask, std::vector<int> const&) {
  c.barrier();
  CHECK_FALSE(c.any(false));
  CHECK(c.any(c.rank() == c.mesh().size() - 1));
  CHECK(c.any(true));
  CHECK(c.counts().empty());
}

inline void counters_and_log(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  using event = mtf::collectives::event;
  auto const p = ranks.size();
  std::size_t const n = 6;
  std::vector<double> in(n * p, 1.0), out(n * p);
  std::vector<event> log;
  c.reset_counts();
  c.record(&log);
  auto const type = mtf::element::f64;
  c.communicate(mtf::collective::all_reduce(axes, combine::sum, type, n), in.data(), out.data());
  c.start(mtf::collective::all_reduce(axes, combine::max, type, n), in.data(), out.data()).wait();
  c.communicate(mtf::collective::reduce_scatter(axes, type, n), in.data(), out.data());
  c.start(mtf::collective::reduce_scatter(axes, type, n), in.data(), out.data()).wait();
  c.communicate(mtf::collective::all_gather(axes, type, n), in.data(), out.data());
  c.start(mtf::collective::all_gather(axes, type, n), in.data(), out.data()).wait();
  c.communicate(mtf::collective::all_to_all(axes, type, n), in.data(), out.data());
  c.communicate(mtf::collective::permute(axes, type, n, c.rank(), c.rank()), in.data(), out.data());
  c.communicate(mtf::collective::exclusive_sum(axes, type, n), in.data(), out.data());
  c.start(mtf::collective::exclusive_sum(axes, type, n), in.data(), out.data()).wait();
  c.record(nullptr);
  c.barrier();

  std::uint64_t const shard = n * sizeof(double), whole = shard * p;
  CHECK(log == std::vector<event>{{collective_kind::all_reduce, axes, shard},
                                  {collective_kind::all_reduce, axes, shard},
                                  {collective_kind::reduce_scatter, axes, whole},
                                  {collective_kind::reduce_scatter, axes, whole},
                                  {collective_kind::all_gather, axes, shard},
                                  {collective_kind::all_gather, axes, shard},
                                  {collective_kind::all_to_all, axes, whole},
                                  {collective_kind::permute, axes, shard},
                                  {collective_kind::exclusive_sum, axes, shard},
                                  {collective_kind::exclusive_sum, axes, shard}});
  CHECK(c.counts().size() == 6);
  for (auto const& count : c.counts()) {
    CAPTURE(mtf::name_of(count.kind));
    CHECK(count.axes == axes);
    switch (count.kind) {
      case collective_kind::all_reduce:
        CHECK(count.calls == 2);
        CHECK(count.payload == 2 * shard);
        CHECK(count.sent == 2 * (2 * (shard * (p - 1) / p)));
        break;
      case collective_kind::reduce_scatter:
        CHECK(count.calls == 2);
        CHECK(count.payload == 2 * whole);
        CHECK(count.sent == 2 * shard * (p - 1));
        break;
      case collective_kind::all_gather:
        CHECK(count.calls == 2);
        CHECK(count.payload == 2 * shard);
        CHECK(count.sent == 2 * shard * (p - 1));
        break;
      case collective_kind::all_to_all:
        CHECK(count.calls == 1);
        CHECK(count.payload == whole);
        CHECK(count.sent == shard * (p - 1));
        break;
      case collective_kind::permute:
        CHECK(count.calls == 1);
        CHECK(count.payload == shard);
        CHECK(count.sent == shard);
        break;
      case collective_kind::exclusive_sum:
        CHECK(count.calls == 2);
        CHECK(count.payload == 2 * shard);
        CHECK(count.sent == (p > 1 ? 2 * shard : 0));
        break;
    }
  }
  c.reset_counts();
  CHECK(c.counts().empty());
}

/// What communicate and start both leave in a buffer of -1.
template <class T>
void makes(mtf::collectives& c, mtf::collective const& what, buffer<T> const& in, buffer<T> const& wanted) {
  CAPTURE(mtf::name_of(what.kind));
  buffer<T> out = filled<T>(wanted.size(), [](std::size_t) { return as_stored<T>(-1); }), started = out;
  c.communicate(what, in.data(), out.data());
  CHECK(out == wanted);
  c.start(what, in.data(), started.data()).wait();
  CHECK(started == wanted);
}

/// Each rank's sum is that of the ranks before it.
inline void sums_of_those_before(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  for (std::size_t const n : {0U, 1U, 7U, 5000U}) {
    auto const before = std::vector<int>(ranks.begin(), std::find(ranks.begin(), ranks.end(), c.rank()));
    makes<float>(c, mtf::collective::exclusive_sum(axes, mtf::element::f32, n), input<float>(c.rank(), n),
                 filled<float>(n, [&](std::size_t i) {
                   return before.empty() ? 0.0F : combined<float>(combine::sum, before, i);
                 }));
  }
}

/// Rank r sends (r + s) % (n + 1) elements to s, so also none and all of a block.
inline void blocks_of_any_length(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  auto const me = static_cast<std::size_t>(c.mesh().index_within(c.rank(), axes));
  for (std::size_t const n : {1U, 3U, 2000U}) {
    auto const sent = [&](std::size_t from, std::size_t to) { return (from + to) % (n + 1); };
    std::vector<std::size_t> sends, receives;
    for (std::size_t r = 0; r < ranks.size(); ++r) sends.push_back(sent(me, r)), receives.push_back(sent(r, me));
    auto const what = mtf::collective::all_to_all(axes, mtf::element::f64, n, sends.data(), receives.data());
    makes<double>(c, what, input<double>(c.rank(), n * ranks.size()),
                  filled<double>(n * ranks.size(), [&](std::size_t i) {
                    bool const arrives = i % n < receives[i / n];
                    return arrives ? sample(ranks[i / n], me * n + i % n) : -1.0;
                  }));
  }
}

/// Neighbours along each axis, at any distance; at the ends zeros arrive.
inline void neighbours(mtf::collectives& c, axis_mask axes, std::vector<int> const&) {
  auto const& mesh = c.mesh();
  std::size_t const n = 9;
  for (int a = 0; a < mesh.ndim; ++a)
    for (int const by : {-2, -1, 0, 1, 3}) {
      if (axes != axis_mask{1} << static_cast<unsigned>(a)) continue;
      int const source = mesh.coordinate(c.rank(), a) - by;
      int from = -1;
      for (int r = 0; r < mesh.size(); ++r)
        if (mesh.group_of(r, axes) == mesh.group_of(c.rank(), axes) && mesh.coordinate(r, a) == source) from = r;
      makes<float>(
          c, mtf::collective::shift(mesh, c.rank(), a, by, mtf::element::f32, n), input<float>(c.rank(), n),
          filled<float>(n, [&](std::size_t i) { return from < 0 ? 0.0F : as_stored<float>(sample(from, i)); }));
    }
}

/// What start leaves is what communicate leaves, of kinds that no other check starts.
inline void any_kind_is_started(mtf::collectives& c, axis_mask axes, std::vector<int> const& ranks) {
  std::size_t const n = 11;
  auto const p = ranks.size();
  auto const me = static_cast<std::size_t>(c.mesh().index_within(c.rank(), axes));
  makes<float>(
      c, mtf::collective::all_to_all(axes, mtf::element::f32, n), input<float>(c.rank(), n * p),
      filled<float>(n * p, [&](std::size_t i) { return as_stored<float>(sample(ranks[i / n], me * n + i % n)); }));
  int const to = ranks[(me + 1) % p], from = ranks[(me + p - 1) % p];
  makes<float>(c, mtf::collective::permute(axes, mtf::element::f32, n, to, from), input<float>(c.rank(), n),
               filled<float>(n, [&](std::size_t i) { return as_stored<float>(sample(from, i)); }));
}

}  // namespace collectives_checks
