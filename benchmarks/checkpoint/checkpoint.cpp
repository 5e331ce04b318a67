// How fast checkpoints are written and read, and what writing costs a training that goes on: of the example's model
// with AdamW's state, beside what the same place does without mtf. mpirun -n 2 checkpoint DIR MESH LAYOUT OTHER-LAYOUT:
// written under LAYOUT, read under OTHER-LAYOUT.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <mtf/checkpoint.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/tools/program.hpp>
#include <mtf/tools/step_options.hpp>

#include "../measure.hpp"

namespace {

namespace fs = std::filesystem;
// `program`: GPT-2 of a config, under any layout (mtf_add_tool).
using backend = mtf::kokkos_backend<>;
using state_split = program::state_split;
using language_model = program::task;
using parameters = program::parameters_on<backend>;
using optimizer = program::optimizer_on<backend>;
using tokens = std::tuple_element_t<0, program::batch_on<backend>>;
constexpr auto gradients_are_completed = program::gradients_are_completed;

/// The files of a checkpoint.
std::vector<fs::path> files_in(std::string const& directory) {
  std::vector<fs::path> files;
  for (auto const& e : fs::directory_iterator(directory)) files.push_back(e.path());
  std::sort(files.begin(), files.end());
  return files;
}

/// Copies `bytes` of these files, put one behind the other, out of the page cache, from this share of them on; behind
/// the last file comes the first one.
void copy_bytes(std::vector<fs::path> const& files, double share, std::size_t bytes, char* to) {
  std::uintmax_t all = 0;
  for (auto const& f : files) all += fs::file_size(f);
  auto before = static_cast<std::uintmax_t>(share * static_cast<double>(all));
  std::size_t filled = 0, i = 0;
  for (; before >= fs::file_size(files[i]); i = (i + 1) % files.size()) before -= fs::file_size(files[i]);
  for (auto at = static_cast<off_t>(before); filled < bytes; at = 0, i = (i + 1) % files.size()) {
    int const in = ::open(files[i].c_str(), O_RDONLY | O_CLOEXEC);
    while (filled < bytes) {
      auto const got = ::pread(in, to + filled, std::min<std::size_t>(bytes - filled, 1U << 20U), at);
      if (got < 0) throw mtf::user_error(files[i].string() + " cannot be read");
      if (got == 0) break;
      at += got;
      filled += static_cast<std::size_t>(got);
    }
    ::close(in);
  }
}

struct state {
  parameters p;
  optimizer moments;
  explicit state(backend& machine) : moments(machine, {}) {}
};

void run(backend& machine, mtf::tools::step_options const& other, std::string const& directory) {
  auto& ranks = machine.ranks();
  bool const speaks = ranks.rank() == 0;
  auto const timed = [&](auto const& f) {
    ranks.barrier();
    return measure::seconds([&] {
      f();
      ranks.barrier();
    });
  };
  auto const at = directory + "/checkpoint", plain = directory + "/plain";
  constexpr int rounds = 5;

  double total = 0;
  // dd, as a checkpoint does, writes a new file and then replaces the last one by it.
  std::vector<double> written, by_dd, with, without, begun;
  {
    state s(machine);
    mtf::random_key const seed(1);
    s.p = language_model::initial<parameters>(machine, seed);
    auto const model = mtf::stored_as("model", s.p);
    auto const moments = mtf::stored_as("optimizer", s.moments);
    for (int i = 0; i < rounds; ++i) {
      written.push_back(timed([&] { mtf::save_parts(ranks, at, {}, model, moments); }));
      total = 0;
      for (auto const& f : files_in(at)) total += static_cast<double>(fs::file_size(f));
      auto const mib = std::to_string(static_cast<long>(total / (1 << 20)));
      by_dd.push_back(timed([&] {
        if (speaks && std::system(("dd if=/dev/zero of=" + plain + ".new bs=1M count=" + mib +
                                   " conv=fsync 2>/dev/null && mv " + plain + ".new " + plain)
                                      .c_str()) != 0)
          throw mtf::user_error("dd could not write " + plain);
      }));
    }
    if (speaks) fs::remove(plain);

    // Steps while nothing is written, and those during which a checkpoint is.
    auto const count = static_cast<std::size_t>(tokens::shape_type::size);
    std::vector<std::int32_t> stream(count + 1);
    for (std::size_t i = 0; i < stream.size(); ++i)
      stream[i] = static_cast<std::int32_t>(seed.of(i).bits() % config::vocab::extent);
    std::span<std::int32_t const> const ids(stream.data(), count), labels(stream.data() + 1, count);
    auto const x = mtf::from_global<tokens>(machine, ids), y = mtf::from_global<tokens>(machine, labels);
    auto const gradient = mtf::value_and_grad<state_split>(
        [](auto const& q, auto const& a, auto const& b) { return language_model::loss(q, a, b); },
        gradients_are_completed);
    auto const step = [&] {
      auto const [value, gradients] = gradient(s.p, x, y);
      s.moments.update(machine, s.p, gradients, 1e-4);
      machine.fence();
    };
    step();
    mtf::checkpoints all(ranks, {.directory = directory + "/series", .keep = 1});
    constexpr int steps = 20;
    for (int i = 0; i < 2; ++i) {
      for (int n = 0; n < steps; ++n) without.push_back(timed(step));
      begun.push_back(timed([&] { all.write(i + 1, {}, model, moments); }));
      bool complete = false;
      for (int n = 0; n < steps && !complete; ++n)
        with.push_back(timed([&] {
          step();
          complete = all.poll();
        }));
      all.finish();
    }
  }

  // Both into memory that was used before: the time for new pages depends on the system. (The first round's is new.) Of
  // a copy as many bytes as this rank's shards have.
  machine.layouts().clear();
  for (auto const& l : mtf::tools::layouts_of<program>(other)) machine.layouts().add(l);
  std::vector<double> loaded, copied;
  std::size_t held = 0;
  for (int i = 0; i <= rounds; ++i) {
    {
      state s(machine);
      loaded.push_back(timed(
          [&] { mtf::load_parts(machine, at, mtf::stored_as("model", s.p), mtf::stored_as("optimizer", s.moments)); }));
      held = machine.memory().live;
    }
    auto* const to = static_cast<char*>(machine.allocate(held));
    auto const share = static_cast<double>(ranks.rank()) / ranks.mesh().size();  // each rank other bytes, as in reading
    copied.push_back(timed([&] { copy_bytes(files_in(at), share, held, to); }));
    machine.release(to, held);
  }
  loaded.erase(loaded.begin());
  copied.erase(copied.begin());
  if (!speaks) return;
  using measure::median;
  double const gb = total / 1e9;
  std::printf("%.2f GB in files\n", gb);
  std::printf("written with sync: %.2f GB/s; dd: %.2f; ratio %.2f\n", gb / median(written), gb / median(by_dd),
              median(by_dd) / median(written));
  double const shards = static_cast<double>(held) * ranks.mesh().size() / 1e9;
  std::printf(
      "read under another layout, %.2f GB in all ranks' shards: %.2f GB/s; copied from the page cache: %.2f; ratio "
      "%.2f\n",
      shards, shards / median(loaded), shards / median(copied), median(copied) / median(loaded));
  std::printf(
      "a step: %.3f s; while a checkpoint is written %.3f s, %+.1f %%; copying it first takes %.3f s, then %.3f s\n",
      median(without), median(with), 100 * (median(with) / median(without) - 1), begun.front(), begun.back());
}

}  // namespace

int main(int argc, char** argv) {
  mtf::tools::step_options under, other;
  std::string directory;
  auto const layouts = [&] {
    if (argc != 5) throw mtf::user_error("usage: checkpoint DIR MESH LAYOUT OTHER-LAYOUT");
    directory = argv[1];
    under.mesh = other.mesh = argv[2];
    under.layout = argv[3];
    other.layout = argv[4];
    return mtf::tools::layouts_of<program>(under);
  };
  return mtf::run_under<backend>(argc, argv, layouts, [&](backend& machine) { run(machine, other, directory); });
}
