// The collectives between threads against their closed forms, and how ranks end together.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/threads.hpp>

#include "support/collectives_checks.hpp"
#include "support/faults.hpp"

namespace {

namespace checks = collectives_checks;
using mtf::bfloat16;
using mtf::combine;
using mtf::element;
using mtf::mesh_shape;

constexpr mesh_shape meshes[] = {{0, {1, 1, 1, 1, 1, 1}}, {1, {2, 1, 1, 1, 1, 1}}, {1, {3, 1, 1, 1, 1, 1}},
                                 {2, {2, 2, 1, 1, 1, 1}}, {3, {2, 1, 3, 1, 1, 1}}, {3, {2, 2, 2, 1, 1, 1}}};

mtf::rank_threads& pool() {
  static mtf::rank_threads threads(8);
  return threads;
}

template <class F>
void for_each_mesh(F const& f) {
  for (auto const& mesh : meshes) pool().run(mesh, [&](mtf::collectives& c) { checks::for_each_axes(c, f); });
}

constexpr mesh_shape cube = meshes[5];
constexpr mtf::axis_mask everyone = 0b111U;

double sum_over(mtf::collectives& c, mtf::axis_mask axes, std::size_t count = 1) {
  std::vector<double> in(count, 1.0), out(count);
  c.communicate(mtf::collective::all_reduce(axes, combine::sum, element::f64, count), in.data(), out.data());
  return out.back();
}

// How a run of f on a 2 x 2 x 2 mesh ends: the text of its first error and how many ranks had one.
struct ending {
  std::string text;
  int errors = 0;
};
ending ends(std::function<void(mtf::collectives&)> const& f) {
  auto const ended = pool().try_run(cube, f, "rows:2 cols:2 deep:2");
  ending e;
  for (auto const& error : ended.errors) e.errors += error != nullptr ? 1 : 0;
  if (ended.first < 0) return e;
  try {
    std::rethrow_exception(ended.errors[static_cast<std::size_t>(ended.first)]);
  } catch (std::exception const& error) {
    e.text = "rank " + std::to_string(ended.first) + ": " + error.what();
  } catch (...) {
    e.text = "rank " + std::to_string(ended.first);
  }
  return e;
}

}  // namespace

// 200 doubles are more than is copied; 13 are less. With 0 there are only rules to follow.
TEST_CASE_TEMPLATE("collectives", T, float, double, bfloat16, std::int32_t, std::int64_t, bool) {
  for (std::size_t const n : {0U, 1U, 13U, 200U, 1500U})
    for_each_mesh([&](mtf::collectives& c, mtf::axis_mask axes, std::vector<int> const& ranks) {
      checks::all_operations<T>(c, axes, ranks, n);
    });
}

TEST_CASE("groups are row-major") { for_each_mesh(checks::groups_are_row_major); }
TEST_CASE("a reduced NaN is NaN on every rank") { for_each_mesh(checks::nan_wins); }
TEST_CASE("of reduced zeros -0 is the smaller") { for_each_mesh(checks::zeros_are_ordered); }
TEST_CASE("several started operations, some over other axes, one that nobody waits for") {
  for_each_mesh(checks::started_operations);
}
TEST_CASE("barrier and any") { for_each_mesh(checks::barrier_and_any); }
TEST_CASE("counters and the log") { for_each_mesh(checks::counters_and_log); }
TEST_CASE("an exclusive sum is that of the ranks before") { for_each_mesh(checks::sums_of_those_before); }
TEST_CASE("an all-to-all with counts moves so many elements") { for_each_mesh(checks::blocks_of_any_length); }
TEST_CASE("shifts between neighbours have open ends") { for_each_mesh(checks::neighbours); }
TEST_CASE("collectives of any kind can be started") { for_each_mesh(checks::any_kind_is_started); }

TEST_CASE("sums are taken in the order of the group: the same bits on all ranks, run after run") {
  for (std::size_t const n : {7U, 3001U}) {
    auto const value = [](int rank, std::size_t i) {
      return std::sin(static_cast<float>(i) + 0.1F) * std::pow(10.0F, static_cast<float>((rank * 5) % 8));
    };
    std::vector<float> wanted(n, 0.0F);
    for (std::size_t i = 0; i < n; ++i) {
      wanted[i] = value(0, i);
      for (int r = 1; r < 8; ++r) wanted[i] += value(r, i);
    }
    pool().run(cube, [&](mtf::collectives& c) {
      std::vector<float> in(n), out(n);
      for (std::size_t i = 0; i < n; ++i) in[i] = value(c.rank(), i);
      c.communicate(mtf::collective::all_reduce(everyone, combine::sum, element::f32, n), in.data(), out.data());
      CHECK(out == wanted);
    });
  }
}

TEST_CASE("many collectives of both kinds in turn") {
  pool().run(cube, [](mtf::collectives& c) {
    for (int i = 0; i < 300; ++i) {
      auto const axes = static_cast<mtf::axis_mask>(i % 8);
      CHECK(sum_over(c, axes, i % 3 == 0 ? 500 : 2) == c.mesh().size(axes));
      int const partner = c.rank() ^ 1;
      double const mine = c.rank() + i;
      double theirs = 0;
      c.communicate(mtf::collective::permute(1U << 2U, element::f64, 1, partner, partner), &mine, &theirs);
      CHECK(theirs == partner + i);
    }
  });
}

// A rank takes its partner's message, has its own taken, and leaves while the partner is about to look for it.
TEST_CASE("a permute is the last call of its ranks: none waits for one that has left") {
  for (int i = 0; i < 20'000; ++i)
    pool().run(cube, [](mtf::collectives& c) {
      double const mine = c.rank();
      double theirs = -1;
      auto const size = c.mesh().size();
      auto const from = (c.rank() + size - 1) % size;
      c.communicate(mtf::collective::permute(everyone, element::f64, 1, (c.rank() + 1) % size, from), &mine, &theirs);
      CHECK(theirs == from);
    });
}

TEST_CASE("a rank that throws ends all") {
  CHECK(ends([](mtf::collectives& c) { sum_over(c, everyone); }).text.empty());
  // The others wait in a collective over all axes, over some that lead to the rank later, in a barrier, in a permute.
  using wait = void (*)(mtf::collectives&);
  wait const waits[] = {
      [](mtf::collectives& c) { sum_over(c, everyone); },
      [](mtf::collectives& c) { sum_over(c, everyone, 1000); },
      [](mtf::collectives& c) {
        for (;;) sum_over(c, 0b001U);
      },
      [](mtf::collectives& c) { c.barrier(); },
      [](mtf::collectives& c) { c.any(true); },
      [](mtf::collectives& c) {
        double x = 1, y = 0;
        for (;;) c.communicate(mtf::collective::permute(everyone, element::f64, 1, 7 - c.rank(), 7 - c.rank()), &x, &y);
      },
      [](mtf::collectives&) {}};
  for (auto const& others : waits) {
    auto const user = ends([&](mtf::collectives& c) {
      if (c.rank() == 5) throw mtf::user_error("no file");
      others(c);
    });
    CHECK(user.text == "rank 5: no file");
    CHECK(user.errors == 1);
    auto const unknown = ends([&](mtf::collectives& c) {
      if (c.rank() == 2) throw 3;
      others(c);
    });
    CHECK(unknown.text == "rank 2");
    CHECK(unknown.errors == 1);
  }
  CHECK_THROWS_AS(pool().run(cube,
                             [](mtf::collectives& c) {
                               if (c.rank() == 5) throw mtf::user_error("no file");
                               c.barrier();
                             }),
                  mtf::user_error);
}

// For the sanitizers: a rank that leaves because of another takes its buffers with it, and none may read these then.
TEST_CASE("a rank that throws amid collectives") {
  for (int i = 0; i < 60; ++i) {
    int const chosen = i * 3 % 8;
    auto const e = ends([&](mtf::collectives& c) {
      for (int n = 0;; ++n) {
        std::vector<double> in(i % 2 == 0 ? 400 : 20000, 1.0), out(in.size());
        if (c.rank() == chosen && n == i % 7) throw std::runtime_error("out of luck");
        int const partner = c.rank() ^ 1;
        c.communicate(mtf::collective::permute(1U << 2U, element::f64, in.size(), partner, partner), in.data(),
                      out.data());
        c.communicate(mtf::collective::all_reduce(0b011U, combine::sum, element::f64, in.size()), in.data(), in.data());
        c.communicate(mtf::collective::all_to_all(0b100U, element::f64, in.size() / 2), in.data(), out.data());
      }
    });
    CHECK(e.text == "rank " + std::to_string(chosen) + ": out of luck");
  }
}

TEST_CASE("whatever call fails on whatever rank, all end, with its error alone") {
  std::vector<double> last(8);
  int const faults = with_each_fault(
      pool(), cube, [] {},
      [&](mtf::collectives& c) {
        for (std::size_t const n : {std::size_t{8}, std::size_t{2000}}) {  // copied, and read where it is
          std::vector<double> in(n, 1.0), out(8 * n);
          c.barrier();
          bool const any = c.any(c.rank() == 3);
          CHECK(any);
          c.communicate(mtf::collective::permute(0b100U, element::f64, n, c.rank() ^ 1, c.rank() ^ 1), in.data(),
                        out.data());
          c.communicate(mtf::collective::all_to_all(0b010U, element::f64, n / 2), in.data(), out.data());
          c.communicate(mtf::collective::all_gather(everyone, element::f64, n), in.data(), out.data());
          c.communicate(mtf::collective::reduce_scatter(0b001U, element::f64, n / 2), in.data(), out.data());
          c.start(mtf::collective::all_reduce(0b011U, combine::sum, element::f64, n), in.data(), in.data()).wait();
          last[static_cast<std::size_t>(c.rank())] = sum_over(c, everyone, n);
        }
      },
      [] {});
  CHECK(faults == 8 * 2 * 8);
  CHECK(last == std::vector<double>(8, 8.0));
}

TEST_CASE("all ranks throw") {
  auto const all = ends([](mtf::collectives& c) {
    if (c.any(c.rank() == 3)) throw mtf::user_error("no file");
  });
  CHECK(all.text.find("no file") != std::string::npos);
  CHECK(all.errors == 8);
}

TEST_CASE("a rank that ends early is named") {
  auto const early = ends([](mtf::collectives& c) {
    sum_over(c, everyone);
    if (c.rank() != 6) sum_over(c, 0b010U);
  });
  CHECK(early.text ==
        "rank 4: all-reduce over cols:2 of mesh rows:2 cols:2 deep:2 waits for rank 6, which has ended: all ranks must "
        "make the same calls");
  CHECK(early.errors == 1);
  auto const permute = ends([](mtf::collectives& c) {
    double x = 1, y = 0;
    if (c.rank() != 6)
      c.communicate(mtf::collective::permute(everyone, element::f64, 1, 7 - c.rank(), 7 - c.rank()), &x, &y);
  });
  CHECK(permute.text ==
        "rank 1: permute of mesh rows:2 cols:2 deep:2 waits for rank 6, which has ended: all ranks must make the same "
        "calls");
  // Nobody waits: no error.
  CHECK(ends([](mtf::collectives& c) {
          if (c.rank() != 6 && c.rank() != 4) sum_over(c, 0b010U);
        }).errors == 0);
}

TEST_CASE("calls that differ are told") {
  auto const operations = ends([](mtf::collectives& c) {
    if (c.rank() == 6) return c.barrier();
    sum_over(c, everyone, 2);
  });
  CHECK(operations.text.find("all ranks must make the same calls") != std::string::npos);
  CHECK(operations.text.find("barrier") != std::string::npos);
  CHECK(operations.text.find("all-reduce (sum) of 2 double") != std::string::npos);
  auto const counts = ends([](mtf::collectives& c) { sum_over(c, 0b001U, c.rank() == 6 ? 1000 : 900); });
  CHECK(counts.text.find("of 900 double") != std::string::npos);
  CHECK(counts.text.find("of 1000 double") != std::string::npos);
  CHECK(counts.text.find(" over rows:2 of mesh") != std::string::npos);
  auto const partners = ends([](mtf::collectives& c) {
    double x = 1, y = 0;
    c.communicate(mtf::collective::permute(everyone, element::f64, 1, 8, 8), &x, &y);
  });
  CHECK(partners.text.find("rank 8, which it lacks") != std::string::npos);
}

TEST_CASE("counts that do not fit each other are told") {
  auto const exchange = [](mtf::collectives& c, std::size_t sent, std::size_t expected) {
    std::vector<double> const in(6, 1);
    std::vector<double> out(6);
    std::vector<std::size_t> const sends(2, sent), receives(2, expected);
    c.communicate(mtf::collective::all_to_all(0b001U, element::f64, 3, sends.data(), receives.data()), in.data(),
                  out.data());
  };
  auto const fewer = ends([&](mtf::collectives& c) { exchange(c, 2, c.rank() == 6 ? 1 : 2); });
  CHECK(fewer.text ==
        "rank 6: all-to-all over rows:2 of mesh rows:2 cols:2 deep:2: rank 2 sends 2 elements, of at most 3, where 1 "
        "are expected");
  auto const more = ends([&](mtf::collectives& c) { exchange(c, 4, 4); });
  CHECK(more.text.find("sends 4 elements, of at most 3") != std::string::npos);
  auto const other = ends([&](mtf::collectives& c) {
    std::vector<double> const in(6, 1);
    std::vector<double> out(6);
    if (c.rank() != 6) return exchange(c, 3, 3);
    c.communicate(mtf::collective::all_to_all(0b001U, element::f64, 3), in.data(), out.data());
  });
  CHECK(other.text.find("all-to-all with counts (sum) of 3 double") != std::string::npos);
}

TEST_CASE("ranks that wait for each other are told after a while") {
  auto const axes = ends([](mtf::collectives& c) {
    sum_over(c, c.rank() == 0 ? 0b001U : 0b010U);
    c.barrier();
  });
  CHECK(axes.text ==
        "rank 0: all ranks wait for each other: all-reduce over rows:2 of mesh rows:2 cols:2 deep:2 (rank 0); barrier "
        "over rows:2 cols:2 deep:2 of mesh rows:2 cols:2 deep:2 (rank 1 3 4 5 6 7); all-reduce over cols:2 of mesh "
        "rows:2 cols:2 deep:2 (rank 2)");
  auto const partners = ends([](mtf::collectives& c) {
    double x = 1, y = 0;
    c.communicate(mtf::collective::permute(everyone, element::f64, 1, (c.rank() + 1) % 8, (c.rank() + 1) % 8), &x, &y);
  });
  CHECK(partners.text.find("rank 0: all ranks wait for each other: permute of mesh") == 0);
}

TEST_CASE("a pool serves meshes up to its size") {
  std::atomic<int> calls{0};
  pool().run(meshes[1], [&](mtf::collectives&) { ++calls; });
  CHECK(calls == 2);
  CHECK_THROWS_AS(pool().run({1, {9, 1, 1, 1, 1, 1}}, [](mtf::collectives&) {}), std::invalid_argument);
}
