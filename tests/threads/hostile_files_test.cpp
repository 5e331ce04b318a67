// Files that are damaged, made to deceive, or cannot be written: every rank says the same sentence, which names the
// file (and the tensor), and the last complete checkpoint stays as it is.
// links: checkpoint
// compilers: first
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mtf/checkpoint.hpp>
#include <mtf/detail/checkpoint/read.hpp>

#include "stored_models.hpp"
#include "support/scratch.hpp"

namespace {

namespace fs = std::filesystem;

struct rows : mtf::dim<"rows", 64> {};
struct columns : mtf::dim<"columns", 256> {};

template <template <class...> class Tensor>
struct model {
  Tensor<rows, columns> w;
  Tensor<columns> b;
  MTF_FIELDS(w, b);
};
using alone = mtf::layout_of<"a:1", "", rows, columns>;
using split = mtf::layout_of<"a:2", "columns:a", rows, columns>;
using split_rows = mtf::layout_of<"a:2", "rows:a", rows, columns>;
template <class Layout>
using model_on = model<mtf::place<float, Layout, backend>::template tensor>;

using one_rank = mtf::mesh_of<"a:1">;
using two_ranks = mtf::mesh_of<"a:2">;

/// Replaces the part of a file of that size which begins there.
void patch(std::string const& path, std::size_t at, std::string const& bytes) {
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(at)) << bytes;
}

void save_to(std::string const& path) {
  on_ranks_of<one_rank>([&](auto& machine) { mtf::save(path, numbered<model_on<alone>>(machine)); });
}
/// Why two ranks, which each read half of w and b, cannot read it: both say the same.
std::string why_not(std::string const& path) {
  std::vector<std::string> said(2);
  on_ranks_of<two_ranks>([&](auto& machine) {
    said[static_cast<std::size_t>(machine.ranks().rank())] =
        error_of([&] { mtf::load<model_on<split>>(machine, path); });
  });
  CHECK(said[0] == said[1]);
  return said[0];
}
void says(std::string const& text, std::string const& part) {
  CAPTURE(text);
  CHECK(text.find(part) != std::string::npos);
}

/// A manifest with this change, and a checksum that is right.
template <class F>
void forge(std::string const& path, F const& change) {
  auto all = nlohmann::json::parse(bytes_of(path));
  all.erase("crc32c");
  change(all);
  auto const rest = all.dump();
  all["crc32c"] = mtf::detail::checksum_of(rest.data(), rest.size());
  write_bytes(path, all.dump());
}

/// What the ranks of a series of checkpoints are told, step by step; `between` is called before each, by one thread.
std::vector<std::string> write_steps(std::string const& path, int steps, void (*between)(std::string const&, int)) {
  std::vector<std::string> told(static_cast<std::size_t>(steps));
  on_ranks_of<two_ranks>([&](auto& machine) {
    auto& ranks = machine.ranks();
    auto const p = numbered<model_on<split>>(machine);
    std::string why;
    mtf::checkpoints all(ranks, {.directory = path, .keep = 0, .not_written = [&](auto const& text) { why = text; }});
    for (int step = 1; step <= steps; ++step) {
      ranks.barrier();
      if (ranks.rank() == 0) between(path, step);
      ranks.barrier();
      why.clear();
      all.write(step, {}, mtf::stored_as("model", p));
      bool const there = all.finish();
      CHECK(there == why.empty());
      CHECK(ranks.any(there) == there);
      if (ranks.rank() == 0) told[static_cast<std::size_t>(step - 1)] = why;
    }
  });
  return told;
}
std::vector<std::string> names_in(std::string const& path) {
  std::vector<std::string> names;
  for (auto const& e : fs::directory_iterator(path)) names.push_back(e.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A small disk of its own; none where the system does not let us.
class disk {
 public:
  explicit disk(std::string path) : path_(std::move(path)) {
    there_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=160k") == 0;
    if (!there_) MESSAGE("skipped: only root can mount a small disk");
  }
  disk(disk const&) = delete;
  disk& operator=(disk const&) = delete;
  ~disk() {
    if (there_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool there() const { return there_; }

 private:
  std::string path_;
  bool there_;
};

}  // namespace

TEST_CASE("each bit of header and manifest, some of the arrays', and each length: refused by name") {
  scratch const at;
  save_to(at.path);
  on_ranks_of<one_rank>([&](auto& machine) {
    auto const why = [&] { return error_of([&] { mtf::load<model_on<alone>>(machine, at.path); }); };
    for (std::string const name : {"model.safetensors", "manifest.json"}) {
      auto const path = at.path + "/" + name, good = bytes_of(path);
      bool const is_manifest = name == "manifest.json";
      std::size_t const header = is_manifest ? good.size() : good.size() - (64 + 1) * 256 * 4;
      for (std::size_t i = 0; i < good.size(); i += i < header ? 1 : 997) {
        for (int bit = 0; bit < 8; bit += i < header ? 1 : 7) {
          auto const bad = static_cast<char>(good[i] ^ (1 << bit));
          patch(path, i, {bad});
          auto const text = why();
          CAPTURE(i);
          CAPTURE(bit);
          if (text.empty()) {  // between the manifest's words any space is as good as another
            auto turned = good;
            turned[i] = bad;
            CHECK(is_manifest);
            CHECK(nlohmann::json::parse(turned, nullptr, false) == nlohmann::json::parse(good));
          } else {
            CHECK(text.find(path) != std::string::npos);
            if (!is_manifest && i >= header) CHECK(text.find("tensor") != std::string::npos);
          }
        }
        patch(path, i, {good[i]});
      }
      for (std::size_t size = good.size(); size-- > 0; size -= std::min(size, size < header ? 0 : std::size_t{997})) {
        fs::resize_file(path, size);
        CAPTURE(size);
        CHECK((why().find(path) != std::string::npos || (is_manifest && size == good.size() - 1)));
      }
      write_bytes(path, good);
    }
    CHECK(why() == "");
  });
}

TEST_CASE("manifests and indices that deceive, with right checksums") {
  scratch const at;
  save_to(at.path);
  auto const manifest = at.path + "/manifest.json", good = bytes_of(manifest);
  auto const refused = [&](std::string const& part, auto const& change) {
    write_bytes(manifest, good);
    forge(manifest, change);
    says(why_not(at.path), part);
  };
  refused("names a file of another directory", [](auto& m) { m["files"][0]["name"] = "../model.safetensors"; });
  refused("names a file of another directory", [](auto& m) { m["files"][0]["name"] = ""; });
  refused("the tensor w is not in manifest.json", [](auto& m) { m["files"][0]["arrays"].erase("w"); });
  refused("w is no number from 0 to 4294967295", [](auto& m) { m["files"][0]["arrays"]["w"] = 1e300; });
  refused("the tensor w is damaged", [](auto& m) { m["files"][0]["arrays"]["w"] = 1; });
  refused("bytes is no number", [](auto& m) { m["files"][0]["bytes"] = -1; });
  refused("its length or its header are not those", [](auto& m) { m["files"][0]["bytes"] = 1; });
  refused("is of another format", [](auto& m) { m["format"] = "mtf checkpoint 2"; });
  refused("no checkpoint's", [](auto& m) { m.erase("files"); });
  write_bytes(manifest, R"({"crc32c": 1e300})");
  says(why_not(at.path), manifest + ": crc32c is no number");

  fs::remove(manifest);
  auto const index = at.path + "/model.safetensors.index.json";
  write_bytes(index, R"({"weight_map": {"a": "a", "b": "m/../../secret", "c": "z"}})");
  says(why_not(at.path), index + ": the tensor b names a file of another directory");
  write_bytes(index, R"({"weight_map": {"a": 7}})");
  says(why_not(at.path), index + " is no index of safetensors files");
  write_bytes(index, R"({"weight_map": {"b": "model.safetensors", "w": "model.safetensors"}})");
  CHECK(why_not(at.path) == "");
}

// Short ranges and long ones.
TEST_CASE_TEMPLATE("a file that becomes shorter while it is read", Layout, split, split_rows) {
  scratch const at;
  save_to(at.path);
  auto const path = at.path + "/model.safetensors";
  on_ranks_of<two_ranks>([&](auto& machine) {
    model_on<Layout> p;
    auto& ranks = machine.ranks();
    auto const parts = mtf::detail::parts_to_read(machine, mtf::stored_as("model", p));
    mtf::detail::tensor_files const files(at.path);
    ranks.barrier();
    if (ranks.rank() == 0) fs::resize_file(path, 9000);
    ranks.barrier();
    CHECK(error_of([&] { mtf::detail::read_tensors(ranks, files, parts[0].tensors); }) ==
          path + ": the tensor w cannot be read: the file is shorter than it was, or the disk fails");
  });
}

TEST_CASE("tensors are read on a backend of their type") {
  struct another {
    mtf::collectives& all;
    mtf::backend::layout_table table{};
    mtf::collectives& ranks() { return all; }
    mtf::backend::layout_table& layouts() { return table; }
  };
  scratch const at;
  save_to(at.path);
  on_ranks_of<two_ranks>([&](auto& machine) {
    model_on<split> p;
    another none_of_theirs{machine.ranks()};
    CHECK(error_of([&] { mtf::load_parts(none_of_theirs, at.path, mtf::stored_as("model", p)); }) ==
          "the tensor w is to be read on a backend of another type than its own");
  });
}

TEST_CASE("a rank reads its own elements, each once") {
  auto const spec = mtf::place<float, split, backend>::tensor<rows, columns>::spec;
  std::vector<int> read(64 * 256);
  for (int rank = 0; rank < 2; ++rank) {
    std::uint64_t own = 0;
    mtf::detail::for_each_range(mtf::detail::own_form(spec), spec, two_ranks::shape(), rank, [&](auto const& r) {
      CHECK(r.mine == own);
      CHECK(r.step == 1);
      own += r.count;
      for (std::uint64_t i = 0; i < r.count; ++i) ++read[r.at + i];
    });
    CHECK(own == 64 * 128);
  }
  CHECK(std::all_of(read.begin(), read.end(), [](int n) { return n == 1; }));
}

TEST_CASE("a file that may not be read") {
  if (::geteuid() == 0) {
    MESSAGE("skipped: root may read everything");
    return;
  }
  scratch const at;
  save_to(at.path);
  fs::permissions(at.path + "/model.safetensors", fs::perms::none);
  says(why_not(at.path), "/model.safetensors cannot be read: Permission denied");
}

TEST_CASE("a full disk: the run is told, what was complete stays, and the next is tried") {
  scratch const at;
  disk const small(at.path);
  if (!small.there()) return;
  auto const told = write_steps(at.path, 4, [](std::string const& path, int step) {
    if (step == 4) fs::remove_all(path + "/step-00000001");
  });
  CHECK(told[0] == "");
  CHECK(told[1] == "");
  says(told[2], at.path +
                    "/step-00000003.writing/model.safetensors cannot be written: No space left on device; it was "
                    "the tensor w");
  CHECK(told[3] == "");
  CHECK(names_in(at.path) == std::vector<std::string>{"step-00000002", "step-00000004"});
  for (auto const& name : names_in(at.path)) CHECK(why_not(at.path + "/" + name) == "");
}

TEST_CASE("a disk that can only be read from then on") {
  scratch const at;
  disk const small(at.path);
  if (!small.there()) return;
  auto const told = write_steps(at.path, 2, [](std::string const& path, int step) {
    if (step == 2) REQUIRE(::mount("", path.c_str(), "", MS_REMOUNT | MS_RDONLY, "") == 0);
  });
  CHECK(told[0] == "");
  says(told[1], at.path + "/step-00000002.writing cannot be made: Read-only file system");
  CHECK(why_not(at.path + "/step-00000001") == "");
}

TEST_CASE("files that may not become so large") {
  scratch const at;
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto const told = write_steps(at.path, 3, [](std::string const&, int step) {
    struct rlimit now{};
    ::getrlimit(RLIMIT_FSIZE, &now);
    now.rlim_cur = step == 2 ? 1000 : now.rlim_max;
    ::setrlimit(RLIMIT_FSIZE, &now);
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(told[0] == "");
  says(told[1], at.path + "/step-00000002.writing/model.safetensors cannot be written: File too large");
  CHECK(told[2] == "");
  CHECK(names_in(at.path) == std::vector<std::string>{"step-00000001", "step-00000003"});
}

TEST_CASE("without a choice, what cannot be written ends the run, on all ranks") {
  scratch const at;
  write_bytes(at.path + "/step-00000001.writing", "");
  fs::create_directory(at.path + "/step-00000001");
  write_bytes(at.path + "/step-00000001/thesis.tex", "years of work");
  on_ranks_of<two_ranks>([&](auto& machine) {
    auto const p = numbered<model_on<split>>(machine);
    mtf::checkpoints all(machine.ranks(), {.directory = at.path});
    says(error_of([&] { all.write(1, {}, mtf::stored_as("model", p)); }), "is no checkpoint that could be replaced");
  });
  CHECK(bytes_of(at.path + "/step-00000001/thesis.tex") == "years of work");
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
