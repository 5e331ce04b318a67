// from_rows: each rank is asked for its own rows and columns, each once, and the tensor is from_global's, under any
// layout that is a type or a value. Token rows come so, the same on 1, 2, 4 and 8 ranks.
// compilers: first
// devices: none
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/data.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;
struct batch : mtf::dim<"batch", 8> {};
struct sequence : mtf::dim<"sequence", 16> {};
constexpr std::size_t size = 8 * 16;

/// Calls f(machine) on each rank of a mesh, under a layout of these tensors.
template <class F>
void under(std::string const& mesh, std::string const& layout, F const& f) {
  auto const value = mtf::layout_from<batch, sequence>(mtf::mesh_from(mesh), layout);
  mtf::rank_threads pool(value.mesh.shape.size());
  pool.run(value.mesh.shape, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    machine.layouts().add(value);
    f(machine);
  });
}
using tokens = mtf::place<std::int32_t, mtf::any_layout<>, backend>::tensor<batch, sequence>;

struct layouts {
  char const *mesh, *layout;
  int replicas;
};
constexpr layouts all[] = {{"x:1", "", 1},
                           {"x:2", "batch:x", 1},
                           {"x:2", "sequence:x", 1},
                           {"x:2", "", 2},
                           {"x:4", "batch:x", 1},
                           {"x:2;y:2", "batch:y;sequence:x", 1},
                           {"x:2;y:2", "sequence:y", 2},
                           {"x:2;y:4", "batch:x;sequence:y", 1},
                           {"x:8", "sequence:x", 1}};

TEST_CASE("each rank is asked for what it holds, and the tensor is the global one's") {
  std::vector<std::int32_t> global(size);
  std::iota(global.begin(), global.end(), 100);
  for (auto const& l : all) {
    CAPTURE(l.mesh);
    CAPTURE(l.layout);
    std::vector<std::atomic<int>> asked(size);
    under(l.mesh, l.layout, [&](backend& machine) {
      auto const x =
          mtf::from_rows<tokens>(machine, [&](std::int64_t row, std::int64_t column, std::span<std::int32_t> to) {
            auto const at = static_cast<std::size_t>(row * 16 + column);
            for (std::size_t i = 0; i < to.size(); ++i) {
              ++asked[at + i];
              to[i] = global[at + i];
            }
          });
      CHECK(x.local() == mtf::from_global<tokens>(machine, global).local());
      CHECK(mtf::to_global(x) == global);
    });
    CHECK(std::all_of(asked.begin(), asked.end(), [&](auto const& n) { return n == l.replicas; }));
  }
}

TEST_CASE("a batch of token rows is the same on 1, 2, 4 and 8 ranks, and goes on from its position") {
  auto const path =
      (std::filesystem::temp_directory_path() / ("mtf-rows-" + std::to_string(::getpid()) + ".bin")).string();
  {
    mtf::token_writer to(path, 500, 499);
    for (std::uint32_t d = 0; d < 300; ++d) {
      to.add(std::vector<std::uint32_t>(1 + d % 17, d));
      to.end_document();
    }
    to.finish();
  }
  mtf::token_file const file(path);
  mtf::row_options const options{.sequence = 16, .key = mtf::random_key(1).of("data").bits(), .validation_share = 0.1};
  auto const batches = [&](layouts const& l, std::int64_t from, std::int64_t to) {
    std::vector<std::int32_t> seen;
    under(l.mesh, l.layout, [&](backend& machine) {
      mtf::token_rows const rows(file, mtf::data_part::training, options);
      for (auto position = from; position < to; position += 8) {
        auto const ids = mtf::to_global(mtf::from_rows<tokens>(
            machine, [&](auto row, auto column, auto part) { rows.ids(position + row, column, part); }));
        auto const labels = mtf::to_global(mtf::from_rows<tokens>(
            machine, [&](auto row, auto column, auto part) { rows.labels(position + row, column, part); }));
        if (machine.ranks().rank() > 0) continue;
        seen.insert(seen.end(), ids.begin(), ids.end());
        seen.insert(seen.end(), labels.begin(), labels.end());
      }
    });
    return seen;
  };
  auto const expected = batches(all[0], 0, 400);  // more than an epoch, which is some 170 rows
  CHECK(expected.size() == 2 * 400 * 16);
  for (auto const& l : all) CHECK(batches(l, 0, 400) == expected);
  auto const rest = batches(all[5], 200, 400);
  CHECK(std::equal(rest.begin(), rest.end(), expected.begin() + 2 * 200 * 16));
  std::filesystem::remove(path);
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
