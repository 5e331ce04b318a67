// Directories of checkpoints: the newest stay, complete ones stay whole whatever fails, what mtf did not write stays.
// links: checkpoint
// compilers: first
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>

#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <mtf/checkpoint.hpp>

#include "stored_blocks.hpp"
#include "stored_models.hpp"
#include "support/faults.hpp"
#include "support/scratch.hpp"

namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("the newest are kept, and each of some steps; incomplete ones are none") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto const p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    mtf::checkpoints all(machine.ranks(), {.directory = at.path, .keep = 2, .keep_every = 10});
    CHECK_FALSE(all.newest().has_value());
    for (int step = 5; step <= 30; step += 5) {
      all.write(step, {}, mtf::stored_as("model", p));
      while (!all.poll()) continue;
      CHECK(all.newest() == step);
    }
    all.write(35, {}, mtf::stored_as("model", p));  // nobody completes it
  });
  auto const killed = at.path + "/step-00000040.writing";  // what a run leaves that is killed
  fs::create_directory(killed);
  fs::copy(at.path + "/step-00000030/model.safetensors", killed);
  std::set<std::string> names;
  for (auto const& e : fs::directory_iterator(at.path)) names.insert(e.path().filename().string());
  CHECK(names == std::set<std::string>{"step-00000010", "step-00000020", "step-00000025", "step-00000030",
                                       "step-00000040.writing"});
  on_ranks_of<alone>([&](auto& machine) {
    mtf::checkpoints const all(machine.ranks(), {.directory = at.path});
    CHECK(all.newest() == 30);
  });
  for (auto const& path : {at.path + "/step-00000040", killed})
    CHECK(why_not(path) == path + " is no checkpoint: it was begun, and not completed");
}

TEST_CASE("what mtf did not write is neither removed nor replaced") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto const p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    bool const speaks = machine.ranks().rank() == 0;
    auto const put = [&](std::string const& file) {
      if (speaks) {
        fs::create_directories(fs::path(file).parent_path());
        write_bytes(file, "mine");
      }
      machine.ranks().barrier();
    };
    // Beside a structure's tensors.
    auto const model = at.path + "/model";
    mtf::save(model, p);
    CHECK(error_of([&] {
            mtf::save(model, p);
            return 0;
          }).empty());
    put(model + "/tokenizer.json");
    CHECK(error_of([&] {
            mtf::save(model, p);
            return 0;
          }).find(model + "/tokenizer.json is there") == 0);
    // In the place of what is under way.
    put(at.path + "/other.writing/notes.txt");
    put(at.path + "/other.writing/model.safetensors");
    CHECK(error_of([&] {
            mtf::save(at.path + "/other", p);
            return 0;
          }).find("other.writing/notes.txt is there") != std::string::npos);
    put(at.path + "/third.writing/model.safetensors");  // as an interrupted one leaves
    CHECK(error_of([&] {
            mtf::save(at.path + "/third", p);
            return 0;
          }).empty());
    // In a checkpoint that is not kept.
    mtf::checkpoints all(machine.ranks(), {.directory = at.path, .keep = 1});
    all.write(1, {}, mtf::stored_as("model", p));
    all.finish();
    put(at.path + "/step-00000001/evaluation.json");
    all.write(2, {}, mtf::stored_as("model", p));
    all.finish();
    machine.ranks().barrier();
    CHECK(all.newest() == 2);
    for (auto const* file : {"/model/tokenizer.json", "/model/model.safetensors", "/other.writing/notes.txt",
                             "/other.writing/model.safetensors", "/step-00000001/evaluation.json"})
      CHECK_MESSAGE(fs::exists(at.path + file), file);
    CHECK_FALSE(fs::exists(at.path + "/step-00000001/model.safetensors"));
    CHECK_FALSE(fs::exists(at.path + "/third.writing"));
  });
}

TEST_CASE("a directory of checkpoints is one run's at a time") {
  scratch const at;
  auto const directory = at.path + "/run";
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto const second = [&] {
      return error_of([&] {
        mtf::checkpoints const other(machine.ranks(), {.directory = directory});
        return 0;
      });
    };
    {
      mtf::checkpoints const first(machine.ranks(), {.directory = directory});
      auto const said = second();
      CHECK(said.find(directory + " is in use by another run (process " + std::to_string(::getpid()) + " on ") == 0);
    }
    machine.ranks().barrier();
    CHECK(second().empty());
  });
  CHECK(fs::is_empty(directory));
  // Of a process that was killed.
  if (auto const child = ::fork(); child == 0) {
    mtf::single_rank one;
    auto* const all = new mtf::checkpoints(one, {.directory = directory});
    static_cast<void>(all->newest());
    ::_exit(7);
  } else {
    int how = 0;
    REQUIRE(::waitpid(child, &how, 0) == child);
    CHECK(WEXITSTATUS(how) == 7);
  }
  mtf::single_rank one;
  CHECK(error_of([&] {
          mtf::checkpoints const next(one, {.directory = directory});
          return 0;
        }).empty());
}

TEST_CASE("an old checkpoint is none before the first of its other files goes") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto const p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    bool const speaks = machine.ranks().rank() == 0;
    mtf::checkpoints all(machine.ranks(), {.directory = at.path, .keep = 1});
    all.write(1, {}, mtf::stored_as("model", p));
    all.finish();
    int const watch = ::inotify_init1(IN_NONBLOCK);
    auto const old = at.path + "/step-00000001";
    if (speaks) {
      // Newer files, and many: whatever the order of a directory is, one of them is before the manifest.
      for (int i = 0; i < 100; ++i) write_bytes(old + "/more-" + std::to_string(i) + ".safetensors", "");
      REQUIRE(::inotify_add_watch(watch, old.c_str(), IN_DELETE) >= 0);
    }
    all.write(2, {}, mtf::stored_as("model", p));
    all.finish();
    if (speaks) {
      alignas(inotify_event) std::array<char, 4096> events{};
      REQUIRE(::read(watch, events.data(), events.size()) > 0);
      CHECK(std::string(reinterpret_cast<inotify_event const*>(events.data())->name) == "manifest.json");
      CHECK_FALSE(fs::exists(old));
    }
    ::close(watch);
  });
}

TEST_CASE("whatever message fails on whatever rank, complete checkpoints are whole and nothing else is left") {
  scratch const at;
  using mesh = mtf::mesh_of<"a:2">;
  mtf::rank_threads pool(mesh::size);
  int const faults = with_each_fault(
      pool, mesh::shape(), [&] { fs::remove_all(at.path); },
      [&](mtf::collectives& ranks) {
        backend machine = backend::one_of_many(ranks);
        auto p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
        mtf::checkpoints all(ranks, {.directory = at.path, .keep = 1});
        for (int step = 1; step <= 2; ++step) all.write(step, {}, mtf::stored_as("model", p));
        all.finish();
        all.read(machine, 2, mtf::stored_as("model", p));
        mtf::save(at.path + "/again", p);
        mtf::save(at.path + "/again", p);
      },
      [&] {
        for (auto const& e : fs::directory_iterator(at.path)) {
          CHECK(fs::exists(e.path() / "manifest.json"));
          CHECK(why_not(e.path().string()) == "");
        }
      });
  CHECK(faults > 30);
}

TEST_CASE("a directory that the ranks do not share: all are told, and nothing is left") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto& ranks = machine.ranks();
    auto const p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    auto const mine = at.of(std::to_string(ranks.rank()));  // as on two computers
    fs::create_directories(mine);
    std::string why;
    mtf::checkpoints all(ranks, {.directory = mine, .not_written = [&](auto const& text) { why = text; }});
    all.write(1, {}, mtf::stored_as("model", p));
    CHECK_FALSE(all.finish());
    CHECK(why.find("model.safetensors cannot be written: No such file or directory") != std::string::npos);
    for (auto const& e : fs::directory_iterator(mine)) CHECK(e.path().filename() == ".lock");
  });
}

TEST_CASE("a directory is written, whose name is no file's") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto const p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    CHECK(error_of([&] { mtf::save(at.of("out.safetensors"), p); }) ==
          at.of("out.safetensors") +
              " is a file's name, and a directory is written, with model.safetensors in it: leave out the ending");
    CHECK(error_of([&] { mtf::save("", p); }) ==
          "the name of a directory was expected, to write tensors into; it is empty");
    for (int i = 0; i < 2; ++i) {  // new, and in place of another
      mtf::save(at.of("out//"), p);
      CHECK(all_of(mtf::load<model_of<float, layout_for<"a:2", "rows:a">>>(machine, at.of("out"))) == all_of(p));
    }
  });
  for (auto const& e : fs::directory_iterator(at.path)) CHECK(e.path().filename() == "out");
}

TEST_CASE("what is there and no checkpoint is left alone") {
  scratch const at;
  fs::create_directories(at.path);
  write_bytes(at.path + "/thesis.tex", "years of work");
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto const p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    CHECK(error_of([&] { mtf::save(at.path, p); }) ==
          at.path + " is there, and is no checkpoint that could be replaced: give another directory");
    CHECK(error_of([&] { mtf::save(at.path + "/thesis.tex/p", p); }).find("cannot be made: Not a directory") !=
          std::string::npos);
  });
  CHECK(bytes_of(at.path + "/thesis.tex") == "years of work");
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
