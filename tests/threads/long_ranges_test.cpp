// Long ranges of checkpoints, which are written past the page cache, between short ones, which are written as memory;
// and who of several replicas writes.
// links: checkpoint
// compilers: first
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include <mtf/checkpoint.hpp>
#include <mtf/detail/checkpoint/direct_file.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/detail/checkpoint/mapped_window.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>

#include "stored_models.hpp"
#include "support/scratch.hpp"

namespace {

namespace fs = std::filesystem;

struct rows : mtf::dim<"rows", 404> {};
struct columns : mtf::dim<"columns", 770> {};
struct few : mtf::dim<"few", 6> {};

/// Tensors of 1.2 MB, which begin and end inside of pages.
template <template <class...> class Tensor>
struct model {
  Tensor<few> first;
  Tensor<rows, columns> w;
  std::array<Tensor<columns, rows>, 2> v;
  Tensor<few> last;
  MTF_FIELDS(first, w, v, last);
};
template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
using model_on = model<mtf::place<float, mtf::layout_of<Mesh, Rules, rows, columns, few>, backend>::template tensor>;

// Each layout's ranges: whole tensors, halves from the middle of a page on, rows of 1540 bytes, replicas.
template <class F>
void under_layouts(F const& f) {
  f.template operator()<"one:1", "">();
  f.template operator()<"a:3", "">();
  f.template operator()<"a:2", "rows:a">();
  f.template operator()<"a:2", "columns:a">();
  f.template operator()<"a:2;b:2", "rows:a">();
}

}  // namespace

TEST_CASE("any ranges of a file, in any order, by two writers at once") {
  scratch const at;
  std::mt19937_64 random(7);  // NOLINT: the same numbers in each run
  auto const below = [&](std::uint64_t n) { return random() % n; };
  std::vector<std::string> places{at.path};
  if (fs::exists("/dev/shm")) places.emplace_back("/dev/shm");  // of which older systems refuse O_DIRECT
  for (auto const& place : places) {
    auto const path = place + "/mtf-long-ranges-" + std::to_string(::getpid());
    for (int round = 0; round < 4; ++round) {
      std::string want((std::size_t{18} << 20U) + below(10000), '\0');
      for (std::size_t i = 0; i + 8 <= want.size(); i += 8) {
        auto const some = random();
        std::memcpy(want.data() + i, &some, 8);
      }
      std::vector<std::size_t> bounds{0, want.size()};
      for (int i = 0; i < 12; ++i) bounds.push_back(below(want.size()));
      for (int i = 0; i < 6; ++i) bounds.push_back(below(want.size()) / 4096 * 4096);
      for (int i = 0; i < 6; ++i)
        bounds.push_back(std::min(want.size(), bounds[static_cast<std::size_t>(i) + 2] + below(5000)));
      std::sort(bounds.begin(), bounds.end());
      // Every third interval is mixed: pieces of up to 3000 bytes, of both writers by turns.
      std::vector<mtf::detail::file_part> mixed;
      std::vector<std::uint64_t> lengths;
      for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
        lengths.push_back(i % 3 == 0 ? 1 + below(3000) : 0);
        if (i % 3 == 0) mixed.push_back({bounds[i], bounds[i + 1]});
      }
      mtf::detail::file::create(path, want.size());
      auto const write = [&](std::size_t writer) {
        std::vector<std::size_t> order(lengths.size());
        std::iota(order.begin(), order.end(), 0U);
        std::shuffle(order.begin(), order.end(), std::mt19937(writer + 2));  // NOLINT: the same numbers in each run
        mtf::detail::direct_file to(path, mixed);
        for (auto const i : order) {
          auto const length = lengths[i];
          if (length == 0 && i % 2 == writer) to.write(bounds[i], want.data() + bounds[i], bounds[i + 1] - bounds[i]);
          if (length == 0) continue;
          for (auto b = bounds[i] + writer * length; b < bounds[i + 1]; b += 2 * length)
            to.write(b, want.data() + b, std::min<std::uint64_t>(length, bounds[i + 1] - b));
        }
        std::uint64_t place = 0;
        to.write_later(place);
        to.sync();
      };
      std::thread other([&] { write(1); });
      write(0);
      other.join();
      CHECK(bytes_of(path) == want);
    }
    fs::remove(path);
  }
}

TEST_CASE("as memory that the file has lost, nothing is written: the caller is told, and writes it itself") {
  scratch const at;
  auto const path = at.of("shorter");
  constexpr std::size_t page = 65536, pages = 4;
  mtf::detail::file::create(path, pages * page);
  auto const file = mtf::detail::file::to_write(path);
  mtf::detail::mapped_window window(file, page, pages * page);
  std::string const some(100, 'x');
  if (!window.write(page, some.data(), some.size())) return;  // this file system maps nothing
  CHECK(!window.write(page - 1, some.data(), some.size()));
  CHECK(!window.write(pages * page - 99, some.data(), some.size()));
  CHECK(window.write(pages * page - 100, some.data(), some.size()));
  fs::resize_file(path, 2 * page);
  CHECK(!window.write(3 * page, some.data(), some.size()));
  CHECK(!window.write(page, some.data(), some.size()));
  CHECK(bytes_of(path).substr(page, 100) == some);
}

TEST_CASE("long tensors: every layout writes the same files, and reads them") {
  scratch const at;
  std::string first;
  under_layouts([&]<mtf::fixed_string Mesh, mtf::fixed_string Rules>() {
    CAPTURE(Mesh.view());
    CAPTURE(Rules.view());
    on_ranks_of<mtf::mesh_of<Mesh>>([&](auto& machine) {
      auto const p = numbered<model_on<Mesh, Rules>>(machine);
      mtf::save(at.of("long"), p);
      auto const again = all_of(mtf::load<model_on<Mesh, Rules>>(machine, at.of("long"))), want = all_of(p);
      if (machine.ranks().rank() == 0) CHECK(again == want);
    });
    auto const written = bytes_of(at.of("long") + "/model.safetensors");
    if (first.empty()) first = written;
    CHECK(written == first);
  });
}

TEST_CASE("of the ranks that hold a shard one writes it, and none writes much more than another") {
  under_layouts([&]<mtf::fixed_string Mesh, mtf::fixed_string Rules>() {
    CAPTURE(Mesh.view());
    CAPTURE(Rules.view());
    using mesh = mtf::mesh_of<Mesh>;
    on_ranks_of<mesh>([&](auto& machine) {
      auto const p = numbered<model_on<Mesh, Rules>>(machine);
      if (machine.ranks().rank() != 0) return;
      auto const all = mtf::detail::parts_to_write(mtf::stored_as("model", p)).at(0).tensors;
      auto const shape = mesh::shape();
      std::vector<std::uint64_t> by_rank(static_cast<std::size_t>(shape.size()));
      std::uint64_t whole = 0, written = 0;
      std::map<mtf::axis_mask, std::uint64_t> largest;  // of those that the same ranks share
      for (auto const& t : all) {
        whole += t.array_bytes();
        auto& most = largest[t.where.split_axes()];
        most = std::max<std::uint64_t>(most, t.shard_bytes(shape));
      }
      for (int r = 0; r < shape.size(); ++r) {
        mtf::detail::turns_of_replicas turns;
        for (auto const& t : all)
          if (turns.mine(t, shape, r)) by_rank[static_cast<std::size_t>(r)] += t.shard_bytes(shape);
      }
      for (auto const n : by_rank) written += n;
      CHECK(written == whole);
      std::uint64_t apart = 0;
      for (auto const& [axes, most] : largest) apart += most;
      auto const [least, most] = std::minmax_element(by_rank.begin(), by_rank.end());
      CHECK(*most - *least <= apart);
    });
  });
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
