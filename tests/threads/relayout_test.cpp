// Derived steps carried out by a backend between ranks, for all ways to lie on a mesh: what arrives, and that as many
// bytes are counted as derived.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/threads.hpp>

#include <mtf/detail/sharding/execute.hpp>
#include <static/shardings.hpp>
#include <support/relayout_laws.hpp>

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
using mtf::sharding;
using mtf::backend::index;

/// What a rank holds of element g: of a partial tensor the term of its place along the partial axes, 1 + place times g
/// + 1. `partial` are the axes of the terms at first; those that are not in `s.partial` are summed.
std::vector<float> held_by(mtf::mesh_shape const& m, sharding const& s, mtf::axis_mask partial, int rank) {
  int terms = 0;
  for (int q = 0; q < m.size(); ++q) {
    bool const same = m.index_within(q, s.partial) == m.index_within(rank, s.partial);
    bool const counted = m.index_within(q, ~partial) == 0;  // one rank for each term
    if (same && counted) terms += 1 + m.index_within(q, partial);
  }
  auto const elements = laws::shard_of<512>(m, s, rank, 0);
  std::vector<float> out;
  for (index i = 0; i < elements.size; ++i)
    out.push_back(static_cast<float>(terms * (laws::global_in(elements.at[i]) + 1)));
  return out;
}

template <int Most>
void check(mtf::rank_threads& pool, mtf::mesh_shape const& m, sharding const& whole, int every) {
  auto const ways = laws::all_ways<Most>(m, whole);
  pool.run(m, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    int pairs = 0, wrong = 0, miscounted = 0, n = 0;
    for (int i = 0; i < ways.size; ++i)
      for (int j = 0; j < ways.size; ++j) {
        auto const &from = ways.at[i], &to = ways.at[j];
        if (!laws::is_relayout(from, to) || n++ % every != 0) continue;
        ++pairs;
        auto const in = held_by(m, from, from.partial, ranks.rank());
        auto const memory = mtf::backend::make_buffer<float>(machine, static_cast<index>(in.size()));
        std::copy(in.begin(), in.end(), mtf::backend::data_of<float>(memory));
        auto const steps = mtf::detail::derive_relayout(m, from, to);
        ranks.reset_counts();
        auto const out = mtf::detail::execute<float>(machine, steps, memory);
        Kokkos::fence();
        auto const want = held_by(m, to, from.partial, ranks.rank());
        wrong += std::equal(want.begin(), want.end(), mtf::backend::data_of<float>(out)) ? 0 : 1;
        std::uint64_t sent = 0;
        for (auto const& c : ranks.counts()) sent += c.sent;
        miscounted += sent == bytes_of(steps, m, sizeof(float)) ? 0 : 1;
      }
    CHECK(wrong == 0);
    CHECK(miscounted == 0);
    if (ranks.rank() == 0) MESSAGE(pairs << " pairs");
  });
}

}  // namespace

TEST_CASE("relayouts bring what was derived and send as much") {
  using by_hand::mesh;
  using by_hand::of;
  mtf::rank_threads pool(12);
  check<18>(pool, mesh({2, 2}), of({{1, 4}, {2, 4}}), 1);
  check<18>(pool, mesh({2, 2}, 0b10), of({{1, 4}, {2, 4}}), 1);
  check<18>(pool, mesh({2, 3}), of({{1, 6}, {2, 6}}), 1);
  check<28>(pool, mesh({2, 3}), of({{1, 6}, {2, 3}, {3, 2}}), 1);
  check<176>(pool, mesh({2, 2, 2}), of({{1, 8}, {2, 8}, {3, 8}}), 7);
  check<176>(pool, mesh({2, 3, 2}, 0b101), of({{1, 12}, {2, 6}, {3, 4}}), 7);
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
