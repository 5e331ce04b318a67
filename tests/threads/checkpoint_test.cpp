// What was written under one layout is read under any other, whole, by name; what is damaged is refused by name.
// links: checkpoint
// compilers: first
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mtf/checkpoint.hpp>

#include "stored_blocks.hpp"
#include "stored_models.hpp"
#include "support/scratch.hpp"

namespace {

namespace fs = std::filesystem;

template <template <class...> class Tensor>
struct bias {
  Tensor<columns> b;
  MTF_FIELDS(b);
};
template <template <class...> class Tensor>
struct flat_block {
  Tensor<rows, columns> w;
  Tensor<columns> b;
  MTF_FIELDS(w, b);
};
template <template <class...> class Tensor>
struct two_tensors {
  Tensor<rows, columns> first;
  Tensor<columns, wide> second;
  MTF_FIELDS(first, second);
};
struct four : mtf::dim<"four", 4> {};
struct six : mtf::dim<"six", 6> {};
template <template <class...> class Tensor>
struct six_biases {
  Tensor<six> b;
  MTF_FIELDS(b);
};
/// What tests/reference/safetensors/make.py writes.
template <template <class...> class Tensor>
struct others_model {
  Tensor<four, six> w;
  std::array<six_biases<Tensor>, 2> blocks;
  MTF_FIELDS(w, blocks);
};

// Calls f<Mesh, Layout>() for layouts of 1 to 8 ranks: none split, first, middle and last dimensions, several at once,
// one dimension over two axes, in both orders.
template <class F>
void under_layouts(F const& f) {
  f.template operator()<"one:1", "">();
  f.template operator()<"a:2", "rows:a">();
  f.template operator()<"a:2", "columns:a">();
  f.template operator()<"a:4", "deep:a">();
  f.template operator()<"a:2;b:2", "rows:a;columns:b">();
  f.template operator()<"a:2;b:4", "rows:b+a">();
  f.template operator()<"a:2;b:2;c:2", "rows:a+c;columns:b">();
  f.template operator()<"a:4;b:2", "wide:a;columns:a;deep:b">();
}

/// Every layout reads the model that was written there.
void all_read(std::string const& path, std::map<std::string, std::vector<double>> const& want) {
  under_layouts([&]<mtf::fixed_string Mesh, mtf::fixed_string Rules>() {
    CAPTURE(Mesh.view());
    CAPTURE(Rules.view());
    on_ranks_of<mtf::mesh_of<Mesh>>([&](auto& machine) {
      auto const all = all_of(mtf::load<model_of<float, layout_for<Mesh, Rules>>>(machine, path));
      if (machine.ranks().rank() == 0) CHECK(all == want);
    });
  });
}

void write_one(std::string const& path) {
  on_ranks_of<alone>([&](auto& machine) { mtf::save(path, numbered<model_of<float, whole>>(machine)); });
}

}  // namespace

TEST_CASE("every layout reads what every other wrote, and files do not tell which it was") {
  scratch const at;
  std::map<std::string, std::vector<double>> want;
  std::string first_file, first_manifest;
  under_layouts([&]<mtf::fixed_string Mesh, mtf::fixed_string Rules>() {
    CAPTURE(Mesh.view());
    CAPTURE(Rules.view());
    using mesh = mtf::mesh_of<Mesh>;
    using layout = layout_for<Mesh, Rules>;
    on_ranks_of<mesh>([&](auto& machine) {
      auto const p = numbered<model_of<float, layout>>(machine);
      if (auto const all = all_of(p); machine.ranks().rank() == 0 && want.empty()) want = all;
      mtf::save(at.path, p);
    });
    auto const file = bytes_of(at.path + "/model.safetensors"), manifest = bytes_of(at.path + "/manifest.json");
    if (first_file.empty()) {
      first_file = file;
      first_manifest = manifest;
    }
    CHECK(file == first_file);
    CHECK(manifest == first_manifest);
    all_read(at.path, want);
  });
  CHECK_FALSE(fs::exists(at.path + ".writing"));
  CHECK_FALSE(fs::exists(at.path + ".old"));
}

TEST_CASE("layouts that are values write and read the same") {
  scratch const at;
  write_one(at.path);
  auto const file = bytes_of(at.path + "/model.safetensors");
  using mesh = mtf::mesh_of<"a:2;b:2">;
  on_ranks_of<mesh>([&](auto& machine) {
    machine.layouts().add(mtf::value_of<layout_for<"a:2;b:2", "rows:a;columns:b">>);
    auto const p = mtf::load<model_of<float, mtf::any_layout<>>>(machine, at.path);
    mtf::save(at.path, p);
  });
  CHECK(bytes_of(at.path + "/model.safetensors") == file);
}

TEST_CASE("element types are converted where they mean the same") {
  scratch const at;
  on_ranks_of<alone>([&](auto& machine) {
    auto const p = numbered<model_of<mtf::bfloat16, whole>>(machine);
    mtf::save(at.path, p);
    CHECK(all_of(mtf::load<model_of<float, whole>>(machine, at.path)) == all_of(p));
    CHECK(all_of(mtf::load<model_of<double, whole>>(machine, at.path)) == all_of(p));
    mtf::save(at.path, numbered<model_of<double, whole>>(machine));
    CHECK(all_of(mtf::load<model_of<mtf::bfloat16, whole>>(machine, at.path)) == all_of(p));
    CHECK(error_of([&] { mtf::load<model_of<std::int32_t, whole>>(machine, at.path); }) ==
          at.path + " is not what is read, in 6 ways: " +
              "the tensor embedding has elements F64, which are not read as I32; " +
              "the tensor blocks.0.w has elements F64, which are not read as I32 (and 1 more like it); " +
              "the tensor blocks.0.b has elements F64, which are not read as I32 (and 1 more like it); " +
              "the tensor scale has elements F64, which are not read as I32");
  });
}

TEST_CASE("an optimizer is restored with its counts, under another layout and with its state split") {
  scratch const at;
  using mtf::stored_as;
  auto const train = [](auto& machine, auto& p, auto& optimizer, int steps) {
    auto const step = mtf::value_and_grad([](auto const& q) { return mtf::mean(q.embedding * q.embedding); });
    for (int i = 0; i < steps; ++i) optimizer.update(machine, p, step(p).gradients, 0.01);
  };
  std::map<std::string, std::vector<double>> want;
  on_ranks_of<alone>([&](auto& machine) {
    auto p = numbered<model_of<float, whole>>(machine);
    mtf::adamw<decltype(p)> optimizer(machine, {});
    train(machine, p, optimizer, 3);
    mtf::save_parts(machine.ranks(), at.path, {{"seed", "17"}}, stored_as("model", p),
                    stored_as("optimizer", optimizer));
    train(machine, p, optimizer, 2);
    want = all_of(p);
  });
  using mesh = mtf::mesh_of<"a:2;b:2">;
  on_ranks_of<mesh>([&](auto& machine) {
    using parameters = model_of<float, layout_for<"a:2;b:2", "columns:a">>;
    struct b_axis : mtf::axis<"b", 2> {};
    parameters p;
    mtf::adamw<parameters, mtf::decay_weights, mtf::state_split_over<b_axis>> optimizer(machine, {});
    auto const notes = mtf::load_parts(machine, at.path, stored_as("model", p), stored_as("optimizer", optimizer));
    CHECK(notes == mtf::checkpoint_notes{{"seed", "17"}});
    train(machine, p, optimizer, 2);
    auto const all = all_of(p);
    if (machine.ranks().rank() == 0)
      for (auto const& [name, numbers] : want)
        for (std::size_t i = 0; i < numbers.size(); ++i)
          CHECK(all.at(name)[i] == doctest::Approx(numbers[i]).epsilon(1e-6));
  });
}

TEST_CASE("large structures are several files, which an index names") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    auto const p = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    mtf::checkpoints all(machine.ranks(), {.directory = at.path, .largest_file = 5000});
    all.write(7, {}, mtf::stored_as("model", p));
    all.finish();
    CHECK(all.newest() == 7);
    auto q = numbered<model_of<float, layout_for<"a:2", "rows:a">>>(machine);
    mtf::for_each_tensor([&](auto, auto& x) { x = mtf::zeros<std::remove_reference_t<decltype(x)>>(machine); }, q);
    CHECK(all.read(machine, 7, mtf::stored_as("model", q)) == mtf::checkpoint_notes{{"step", "7"}});
    CHECK(all_of(p) == all_of(q));
  });
  auto const step = at.path + "/step-00000007";
  CHECK(fs::exists(step + "/model-00001-of-00002.safetensors"));
  CHECK(fs::exists(step + "/model.safetensors.index.json"));
  fs::remove(step + "/manifest.json");  // as another tool would have written it
  CHECK(why_not(step) == "");
}

TEST_CASE("what one rank alone cannot read, all say") {
  scratch const at;
  using mesh = mtf::mesh_of<"a:2">;
  using layout = layout_for<"a:2", "rows:a">;
  std::array<std::array<std::string, 2>, 2> said;
  on_ranks_of<mesh>([&](auto& machine) {
    auto const rank = static_cast<std::size_t>(machine.ranks().rank());
    mtf::save(at.of("0"), numbered<model_of<float, layout>>(machine));
    auto const mine = at.of(rank == 0 ? "0" : "none");  // as on two computers
    said[0][rank] = error_of([&] { mtf::load<model_of<float, layout>>(machine, mine); });

    first_alone<mtf::place<std::int64_t, layout, backend>::template tensor> large;
    std::vector<std::int64_t> numbers(8 * 12, 7);
    numbers.back() = std::int64_t{1} << 40U;  // on the last rank
    large.first = mtf::from_global<decltype(large.first)>(machine, numbers);
    mtf::save(at.of("large"), large);
    using small = first_alone<mtf::place<std::int32_t, layout, backend>::template tensor>;
    said[1][rank] = error_of([&] { mtf::load<small>(machine, at.of("large")); });
  });
  for (auto const& both : said) CHECK(both[0] == both[1]);
  CHECK(said[0][0] == at.of("none") + " cannot be read: No such file or directory");
  CHECK(said[1][0] ==
        at.of("large/model.safetensors") + ": the tensor first has an element that does not fit into I32");
}

TEST_CASE("any bit that turns and any byte that is missing is found, and named") {
  scratch const at;
  write_one(at.path);
  for (std::string const name : {"model.safetensors", "manifest.json"}) {
    auto const path = at.path + "/" + name, good = bytes_of(path);
    for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 400) {
      auto bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << i % 8));
      write_bytes(path, bad);
      auto const why = why_not(at.path);
      CAPTURE(i);
      // Between the manifest's words any space is as good as another.
      if (name == "manifest.json" && why.empty()) {
        CHECK(nlohmann::json::parse(bad) == nlohmann::json::parse(good));
        continue;
      }
      CHECK(why.find(name) != std::string::npos);
    }
    for (std::size_t size = 0; size < good.size(); size += 1 + good.size() / 200) {
      write_bytes(path, good.substr(0, size));
      CAPTURE(size);
      CHECK(why_not(at.path).find(name == "manifest.json" && size == good.size() - 1 ? "" : name) != std::string::npos);
    }
    write_bytes(path, good);
  }
  CHECK(why_not(at.path) == "");
}

TEST_CASE("headers that lie are refused") {
  scratch const at;
  fs::create_directories(at.path);
  auto const path = at.path + "/model.safetensors";
  auto const with = [&](std::string json, std::size_t bytes) {
    std::string text(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(json.size() >> (8 * i) & 255U);
    write_bytes(path, text + json + std::string(bytes, 'x'));
    return why_not(path);
  };
  auto const says = [](std::string const& text, std::string const& part) {
    CAPTURE(text);
    CHECK(text.find(part) != std::string::npos);
  };
  says(
      with(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
          8),
      "has the key \"a\" twice");
  says(
      with(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
          12),
      "the array b begins at byte 4, inside another one; it should at 8");
  says(
      with(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}})",
          20),
      "the array b begins at byte 12, behind a hole; it should at 8");
  says(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9),
       "has 9 bytes of arrays, and should have 8");
  says(with(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8), "should have 12 bytes");
  says(with(R"({"a":{"dtype":"F32","shape":[-3],"data_offsets":[0,8]}})", 8), "impossible shape");
  says(with(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,8]}})", 8),
       "impossible shape");
  says(with(R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8), "has an unknown dtype, \"F31\"");
  says(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8), "should have 8 bytes");
  says(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8.5]}})", 8), "no two data_offsets");
  says(with(R"({"a":[]})", 8), "is not described by");
  says(with(R"([])", 0), "is no JSON object");
  says(with(R"({"a")", 0), "is not JSON");
  says(with(std::string(100, '['), 0), "nested more than 64 levels");
  says(with(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8), "it has no tensor embedding, ");
  write_bytes(path, std::string("\0\0\0\0\0\0\0\x80", 8) + "{}");  // a header of 2^63 bytes
  says(why_not(path), "is no safetensors file, or not whole");
  write_bytes(path, "");
  says(why_not(path), "is no safetensors file, or not whole");
  fs::remove(path);
  fs::create_directory(path);
  says(why_not(at.path), "is a directory");
  fs::remove(path);
  fs::create_symlink(path, path);
  says(why_not(path), "Too many levels of symbolic links");
  fs::remove(path);
  says(why_not(at.path), "is no checkpoint");
  says(why_not(at.path + "/none"), "No such file or directory");
}

TEST_CASE("files of safetensors' own library are read, and ours are the same bytes") {
  scratch const at;
  std::string const theirs = MTF_TEST_DIR "/reference/safetensors";
  using parts = mtf::layout_of<"a:2", "six:a", four, six>;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    using parameters = others_model<mtf::place<float, parts, backend>::template tensor>;
    auto const counted = [](std::size_t n, double from) {
      std::vector<double> all(n);
      for (std::size_t i = 0; i < n; ++i) all[i] = from + 0.25 * static_cast<double>(i);
      return all;
    };
    std::map<std::string, std::vector<double>> const want{
        {"w", counted(24, 1)}, {"blocks.0.b", counted(6, 100)}, {"blocks.1.b", counted(6, 200)}};
    for (auto const& path : {theirs, theirs + "/model.safetensors", theirs + "/sharded"}) {
      CAPTURE(path);
      auto const p = mtf::load<parameters>(machine, path);
      CHECK(all_of(p) == want);
      mtf::save(at.path, p);
    }
  });
  CHECK(bytes_of(at.path + "/model.safetensors") == bytes_of(theirs + "/model.safetensors"));
  auto const types = bytes_of(theirs + "/all_types.safetensors");
  auto header = mtf::safetensors_from(types, types.size(), "all_types.safetensors");
  CHECK(header.arrays.size() == 12);
  CHECK(mtf::lay_out(header) == types.substr(0, static_cast<std::size_t>(header.data)));
}

TEST_CASE("another model's file is refused") {
  scratch const at;
  on_ranks_of<alone>([&](auto& machine) {
    using place = mtf::place<float, whole, backend>;
    block<place::tensor> other;
    other.w = mtf::zeros<decltype(other.w)>(machine);
    other.b = mtf::zeros<decltype(other.b)>(machine);
    mtf::save(at.path, other);
    CHECK(error_of([&] { mtf::load<model_of<float, whole>>(machine, at.path); }) ==
          at.path + " is not what is read, in 8 ways: " +
              "it has no tensor embedding, blocks.0.w (and 1 more like it), blocks.0.b (and 1 more like it), scale; " +
              "not in the structure that is read: b, w: it is another model's, or is to be listed in " +
              "load_options::may_be_left_over");
    CHECK(error_of([&] { mtf::load<bias<place::tensor>>(machine, at.path); }) ==
          at.path + "/model.safetensors: the tensor w is not in the structure that is read: it is another model's, " +
              "or is to be listed in load_options::may_be_left_over");
    CHECK(error_of([&] { mtf::load<flat_block<place::tensor>>(machine, at.path); }) ==
          at.path + "/model.safetensors: the tensor w is [8, 4, 12]; here it is [rows 8, columns 12]");
  });
}

TEST_CASE("tensors that the structure lacks are refused in any file, of those that are read") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    using place = mtf::place<float, layout_for<"a:2", "rows:a">, backend>;
    using whole_model = two_tensors<place::template tensor>;
    using part_of_it = first_alone<place::template tensor>;
    auto& ranks = machine.ranks();
    auto const in = at.of("all"), single = at.of("weights.safetensors"), theirs = at.of("theirs");
    auto const p = numbered<whole_model>(machine);
    mtf::checkpoints all(ranks, {.directory = in, .largest_file = 500});
    all.write(1, {}, mtf::stored_as("model", p));
    all.finish();
    auto const step = all.directory_of(1);
    if (ranks.rank() == 0) {
      CHECK(fs::exists(step + "/model-00002-of-00002.safetensors"));
      fs::create_directory(theirs);
      for (auto const* n : {"1", "2"})
        fs::copy(step + "/model-0000" + n + "-of-00002.safetensors", theirs + "/part" + n + ".safetensors");
      write_bytes(theirs + "/model.safetensors.index.json",
                  R"({"weight_map": {"first": "part1.safetensors", "second": "part2.safetensors"}})");
    }
    mtf::save(at.of("one"), p);
    if (ranks.rank() == 0) fs::copy(at.of("one/model.safetensors"), single);
    ranks.barrier();
    for (auto const& path : {step, theirs, at.of("one"), single}) {
      CAPTURE(path);
      auto const why = error_of([&] { mtf::load<part_of_it>(machine, path); });
      CHECK(why.find("safetensors: the tensor second is not in the structure that is read") != std::string::npos);
      auto const none =
          error_of([&] { mtf::load<bias<place::template tensor>>(machine, path, {.may_be_missing = {"*"}}); });
      CHECK(none.find("is not what is read, in 2 ways: not in the structure that is read: first, second: ") !=
            std::string::npos);
      auto const listed = mtf::load<part_of_it>(machine, path, {.may_be_left_over = {"sec*"}});
      CHECK(mtf::to_global(listed.first) == mtf::to_global(p.first));
      CHECK(all_of(mtf::load<whole_model>(machine, path)) == all_of(p));
    }
    // Other parts may be there; those that are read are, whatever they are called here.
    auto const b = numbered<bias<place::template tensor>>(machine);
    mtf::save_parts(ranks, at.of("parts"), {}, mtf::stored_as("model", p), mtf::stored_as("other", b));
    CHECK(all_of(mtf::load<whole_model>(machine, at.of("parts"))) == all_of(p));
    part_of_it q;
    CHECK(error_of([&] {
            mtf::load_parts(machine, at.of("parts"), mtf::stored_as("another", q));
          }).find("the tensor second is not in the structure that is read") != std::string::npos);
  });
}

TEST_CASE("what is said to may be missing keeps its value") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"a:2">>([&](auto& machine) {
    using place = mtf::place<float, layout_for<"a:2", "rows:a">, backend>;
    using whole_model = two_tensors<place::template tensor>;
    auto& ranks = machine.ranks();
    auto const p = numbered<whole_model>(machine);
    first_alone<place::template tensor> const one{p.first};
    mtf::save(at.of("one"), one);
    mtf::save(at.of("both"), p);
    CHECK(error_of([&] { mtf::load<whole_model>(machine, at.of("one"), {.may_be_missing = {"first"}}); }) ==
          at.of("one") + " has no tensor second; it has first");
    auto const fresh = mtf::load<whole_model>(machine, at.of("one"), {.may_be_missing = {"*"}});
    CHECK(mtf::to_global(fresh.first) == mtf::to_global(p.first));
    CHECK(fresh.second.empty());
    whole_model q{p.first + 1, p.second + 1};
    mtf::load_parts(machine, at.of("one"), {.may_be_missing = {"second"}}, mtf::stored_as("model", q));
    CHECK(mtf::to_global(q.first) == mtf::to_global(p.first));
    CHECK(mtf::to_global(q.second) == mtf::to_global(p.second + 1));
    auto const mine = ranks.rank() == 0 ? at.of("one") : at.of("both");
    CHECK(error_of([&] { mtf::load<whole_model>(machine, mine, {.may_be_missing = {"second"}}); }) ==
          mine + " has not the same tensors on all ranks: the files that they read should be the same");
  });
}

TEST_CASE("no two parts and no two tensors have one name, neither written nor read") {
  scratch const at;
  on_ranks_of<alone>([&](auto& machine) {
    auto p = numbered<model_of<float, whole>>(machine);
    auto q = p;
    auto const twice = [&](char const* a, char const* b) {
      auto const written = error_of(
          [&] { mtf::save_parts(machine.ranks(), at.of("x"), {}, mtf::stored_as(a, p), mtf::stored_as(b, q)); });
      mtf::save(at.of("one"), p);
      CHECK(error_of([&] { mtf::load_parts(machine, at.of("one"), mtf::stored_as(a, p), mtf::stored_as(b, q)); }) ==
            written);
      return written;
    };
    CHECK(twice("model", "model") == "a checkpoint cannot have two parts of one name, model");
    CHECK(twice("model", "mean").find("cannot have two tensors of one name, embedding (in model and mean): give ") !=
          std::string::npos);
  });
}

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
