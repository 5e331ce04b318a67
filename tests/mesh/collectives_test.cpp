// The MPI collectives against their closed forms: every operation, element type and set of axes, on meshes of as many
// ranks as mpirun started (1, 2, 4 or 8).
// ranks: 1 2 4 8
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mtf/mpi.hpp>
#include <mtf/mpi/shared_memory/segment.hpp>

#include "support/collectives_checks.hpp"

namespace {

namespace checks = collectives_checks;
using mtf::bfloat16;
using mtf::mesh_shape;

std::vector<mesh_shape> meshes_of(int ranks) {
  switch (ranks) {
    case 1:
      return {{0, {1, 1, 1, 1, 1, 1}}, {1, {1, 1, 1, 1, 1, 1}}, {2, {1, 1, 1, 1, 1, 1}}};
    case 2:
      return {{1, {2, 1, 1, 1, 1, 1}}, {3, {1, 2, 1, 1, 1, 1}}};
    case 4:
      return {{1, {4, 1, 1, 1, 1, 1}}, {2, {2, 2, 1, 1, 1, 1}}, {3, {2, 1, 2, 1, 1, 1}}};
    case 8:
      return {{2, {4, 2, 1, 1, 1, 1}}, {3, {2, 2, 2, 1, 1, 1}}, {1, {8, 1, 1, 1, 1, 1}}};
    default:
      return {{1, {ranks, 1, 1, 1, 1, 1}}};
  }
}

int world_size() {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

// Through shared memory; through MPI; through MPI with counts beyond 5 taking the paths for counts beyond an int.
constexpr mtf::mpi_collectives::options every_way[] = {
    {.shared_memory = true}, {.shared_memory = false}, {.shared_memory = false, .largest = 5}};

template <class F>
void for_each_mesh(F const& f, std::span<mtf::mpi_collectives::options const> ways = every_way) {
  for (auto const& way : ways)
    for (auto const& mesh : meshes_of(world_size())) {
      CAPTURE(way.shared_memory);
      CAPTURE(way.largest);
      mtf::mpi_collectives c(mesh, {}, way);
      checks::for_each_axes(c, f);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("collectives", T, float, double, bfloat16, std::int32_t, std::int64_t, bool) {
  for (std::size_t const n : {0U, 1U, 4U, 13U})
    for_each_mesh([&](mtf::collectives& c, mtf::axis_mask axes, std::vector<int> const& ranks) {
      checks::all_operations<T>(c, axes, ranks, n);
    });
}
TEST_CASE("messages of several pieces, some of them odd") {
  for (std::size_t const n : {1025U, 70'001U, 150'000U})
    for_each_mesh(
        [&](mtf::collectives& c, mtf::axis_mask axes, std::vector<int> const& ranks) {
          if (std::popcount(axes) != 1) return;  // there are sets enough without those of several axes
          checks::all_operations<float>(c, axes, ranks, n);
          checks::all_operations<bfloat16>(c, axes, ranks, n + 1);
        },
        std::span(every_way).first(2));
}

TEST_CASE("groups are row-major") { for_each_mesh(checks::groups_are_row_major); }
TEST_CASE("a reduced NaN is NaN on every rank") { for_each_mesh(checks::nan_wins); }
TEST_CASE("of reduced zeros -0 is the smaller") { for_each_mesh(checks::zeros_are_ordered); }
TEST_CASE("processes of a node share memory that has no name, whatever others left behind") {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  auto const size = static_cast<std::size_t>(world_size());
  mtf::mpi::shared_memory const memory(MPI_COMM_WORLD, size), other(MPI_COMM_WORLD, size);
  REQUIRE(memory.data() != nullptr);
  REQUIRE(other.data() != nullptr);
  memory.data()[rank] = static_cast<std::byte>(rank + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  for (std::size_t r = 0; r < size; ++r) {
    CHECK(memory.data()[r] == static_cast<std::byte>(r + 1));
    CHECK(other.data()[r] == std::byte{0});
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

TEST_CASE("several started operations, some over other axes, one that nobody waits for") {
  for_each_mesh(checks::started_operations);
}
TEST_CASE("barrier and any") { for_each_mesh(checks::barrier_and_any); }
TEST_CASE("counters and the log") { for_each_mesh(checks::counters_and_log); }
TEST_CASE("an exclusive sum is that of the ranks before") { for_each_mesh(checks::sums_of_those_before); }
TEST_CASE("an all-to-all with counts moves so many elements") { for_each_mesh(checks::blocks_of_any_length); }
TEST_CASE("shifts between neighbours have open ends") { for_each_mesh(checks::neighbours); }
TEST_CASE("collectives of any kind can be started") { for_each_mesh(checks::any_kind_is_started); }

TEST_CASE("a failed call says which, where and why") {
  mtf::mpi_collectives c(meshes_of(world_size())[0], "rows:9");
  int in = 0, out = 0;
  auto const nobody = world_size();
  auto const text = "MPI_Sendrecv to rank " + std::to_string(nobody) + " and from rank 0 of mesh rows:9 failed: ";
  try {
    c.communicate(mtf::collective::permute(0, mtf::element::i32, 1, nobody, 0), &in, &out);
    CHECK(false);
  } catch (mtf::mpi_error const& e) {
    CHECK(std::string(e.what()).find(text) == 0);
    // Each MPI in its own words; MPICH then says more.
    CHECK(std::string(e.what()).find(mtf::mpi::mpi_text(MPI_ERR_RANK)) == text.size());
  }
  std::vector<std::size_t> const too_many(static_cast<std::size_t>(world_size()), 2);
  std::vector<int> const from(too_many.size());
  std::vector<int> to(too_many.size());
  if (world_size() > 1)
    CHECK_THROWS_WITH(
        c.communicate(mtf::collective::all_to_all(1, mtf::element::i32, 1, too_many.data(), too_many.data()),
                      from.data(), to.data()),
        ("all-to-all with counts over rows:9 of mesh rows:9: rank " + std::to_string(c.rank()) +
         " sends 2 and receives 2 elements, of at most 1")
            .c_str());
  mtf::mpi::mpi_place const place{"MPI_Allreduce", "rows:2 cols:4 deep:3", 0b101U};
  CHECK(place.text() == "MPI_Allreduce over rows:2 deep:3 of mesh rows:2 cols:4 deep:3");
  CHECK_THROWS_AS(mtf::mpi_collectives({1, {nobody + 1, 1, 1, 1, 1, 1}}), mtf::user_error);
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  doctest::Context tests(argc, argv);
  tests.setOption("minimal", rank != 0);
  int failed = tests.run();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
