// Tensors by the names and in the forms of another tool's files: whatever the layouts that write and read, an array has
// what its form says; what does not fit is said.
// links: checkpoint
// compilers: first
// devices: none
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/checkpoint/array_source.hpp>
#include <mtf/checkpoint/config_file.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/checkpoint/save.hpp>

#include "stored_models.hpp"
#include "support/error_of.hpp"
#include "support/ranks_as_threads.hpp"
#include "support/scratch.hpp"

namespace {

namespace fs = std::filesystem;

struct width : mtf::dim<"width", 8> {};
struct heads : mtf::dim<"heads", 4> {};
struct size : mtf::dim<"size", 6> {};
struct odd : mtf::dim<"odd", 7, mtf::pad_to<4>> {};
// Of stored arrays.
struct three : mtf::dim<"three", 3> {};
struct pair : mtf::dim<"pair", 2> {};

template <template <class...> class Tensor>
struct block {
  Tensor<width, heads, size> q, k, v;  // parts of one array
  Tensor<heads, size, width> o;        // transposed
  Tensor<odd, width> table;            // padded, transposed
  Tensor<width, odd> left, right;      // parts of rows
  Tensor<width> scale;
  Tensor<> one;
  MTF_FIELDS(q, k, v, o, table, left, right, scale, one);
};
template <template <class...> class Tensor>
struct network {
  std::array<block<Tensor>, 2> blocks;
  MTF_FIELDS(blocks);
};
/// The arrays of a block as they are stored.
template <template <class...> class Tensor>
struct stored_block {
  Tensor<width, three, heads, size> qkv;
  Tensor<width, heads, size> o;
  Tensor<width, odd> table;
  Tensor<odd, pair, width> both;
  Tensor<width> scale;
  Tensor<> one;
  MTF_FIELDS(qkv, o, table, both, scale, one);
};
template <template <class...> class Tensor>
struct stored_network {
  std::array<stored_block<Tensor>, 2> h;
  MTF_FIELDS(h);
};

mtf::stored_names names(std::string const& prefix = "net.") {
  return {.tensors = {{"blocks.*.q", prefix + "h.*.qkv", "width 0/3 heads size", 0},
                      {"blocks.*.k", prefix + "h.*.qkv", "width 1/3 heads size", 0},
                      {"blocks.*.v", prefix + "h.*.qkv", "width 2/3 heads size", 0},
                      {"blocks.*.o", prefix + "h.*.o", "width heads size", 0},
                      {"blocks.*.table", prefix + "h.*.table", "width odd", 0},
                      {"blocks.*.left", prefix + "h.*.both", "odd 0/2 width", 0},
                      {"blocks.*.right", prefix + "h.*.both", "odd 1/2 width", 0},
                      {"blocks.*.scale", prefix + "h.*.scale", "", 0},
                      {"blocks.*.one", prefix + "h.*.one", "", 0}},
          .prefix = prefix,
          .not_parameters = {prefix + "h.*.mask"},
          .copies = {{prefix + "copy", prefix + "h.0.scale"}}};
}

template <class Element>
using here = mtf::place<Element, mtf::any_layout<>, thread_backend>;
using model = network<here<float>::tensor>;
using stored_model = stored_network<here<float>::tensor>;

/// That `s`, read as plain arrays, is what the forms make of p.
void check_stored(model const& p, stored_model const& s) {
  for (std::size_t l = 0; l < 2; ++l) {
    auto const& block = p.blocks[l];
    auto const qkv = mtf::to_global(s.h[l].qkv), o = mtf::to_global(s.h[l].o), table = mtf::to_global(s.h[l].table),
               both = mtf::to_global(s.h[l].both);
    std::array const parts{mtf::to_global(block.q), mtf::to_global(block.k), mtf::to_global(block.v)};
    std::array const sides{mtf::to_global(block.left), mtf::to_global(block.right)};
    auto const our_o = mtf::to_global(block.o), our_table = mtf::to_global(block.table);
    bool same = true;
    for (std::size_t w = 0; w < 8; ++w) {
      for (std::size_t hs = 0; hs < 24; ++hs) {
        for (std::size_t t = 0; t < 3; ++t) same = same && qkv[(w * 3 + t) * 24 + hs] == parts[t][w * 24 + hs];
        same = same && o[w * 24 + hs] == our_o[hs * 8 + w];
      }
      for (std::size_t i = 0; i < 7; ++i) {
        same = same && table[w * 7 + i] == our_table[i * 8 + w];
        for (std::size_t t = 0; t < 2; ++t) same = same && both[(i * 2 + t) * 8 + w] == sides[t][w * 7 + i];
      }
    }
    CHECK(same);
    CHECK(mtf::to_global(s.h[l].scale) == mtf::to_global(block.scale));
    CHECK(mtf::to_global(s.h[l].one) == mtf::to_global(block.one));
  }
}

constexpr std::array<char const*, 7> rules{
    "", "width:p", "heads:p;size:q", "heads:p+q", "odd:q", "odd:p+q", "width:q;heads:p",
};
constexpr auto mesh_text = "p:2;q:2";

TEST_CASE("arrays are what their forms say, under any layout that writes or reads") {
  scratch const at;
  for (char const* const writes : rules) {
    CAPTURE(writes);
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      b.layouts().add(mtf::layout_from(mtf::mesh_from(mesh_text), writes));
      mtf::save(at.of("stored"), numbered<model>(b), {.names = names()});
    });
    for (char const* const reads : rules) {
      CAPTURE(reads);
      on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
        b.layouts().add(mtf::layout_from(mtf::mesh_from(mesh_text), reads));
        auto const p = numbered<model>(b);
        auto const q = mtf::load<model>(b, at.of("stored"), {.names = names()});
        mtf::for_each_tensor([&](auto, auto const& x, auto const& y) { CHECK(mtf::to_global(x) == mtf::to_global(y)); },
                             p, q);
        // The stored shapes join some of these dimensions: read as such.
        mtf::stored_names const plain{.tensors = {{"h.*.qkv", "net.h.*.qkv", "width three heads size", 0},
                                                  {"h.*.o", "net.h.*.o", "width heads size", 0},
                                                  {"h.*.table", "net.h.*.table", "", 0},
                                                  {"h.*.both", "net.h.*.both", "odd pair width", 0},
                                                  {"h.*.scale", "net.h.*.scale", "", 0},
                                                  {"h.*.one", "net.h.*.one", "", 0}}};
        check_stored(p, mtf::load<stored_model>(b, at.of("stored"), {.names = plain}));
      });
    }
  }
}

/// A file's arrays, as those of another format; it counts the bytes that it is asked for.
class counted_source final : public mtf::array_source {
 public:
  explicit counted_source(std::string const& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    auto const header = mtf::safetensors_from(bytes_, bytes_.size(), path);
    arrays_ = header.arrays;
    data_ = header.data;
  }
  [[nodiscard]] std::string const& path() const override { return path_; }
  [[nodiscard]] std::vector<mtf::stored_array> const& arrays() const override { return arrays_; }
  void read(std::size_t i, std::uint64_t begin, std::span<char> to) const override {
    if (fails && asked > 0) throw mtf::user_error("some.format: it ends");
    std::memcpy(to.data(), bytes_.data() + data_ + arrays_[i].begin + begin, to.size());
    asked += to.size();
  }
  [[nodiscard]] std::uint64_t all() const { return bytes_.size() - data_; }
  mutable std::uint64_t asked = 0;
  bool fails = false;

 private:
  std::string path_ = "some.format", bytes_;
  std::vector<mtf::stored_array> arrays_;
  std::uint64_t data_ = 0;
};

TEST_CASE("arrays of another format: a rank asks for the bytes of its shards, and no others") {
  scratch const at;
  on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
    b.layouts().add(mtf::layout_from(mtf::mesh_from(mesh_text), ""));
    mtf::save(at.of("stored"), numbered<model>(b), {.names = names()});
  });
  for (char const* const reads : rules) {
    CAPTURE(reads);
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      b.layouts().add(mtf::layout_from(mtf::mesh_from(mesh_text), reads));
      auto const from = std::make_shared<counted_source>(at.of("stored/model.safetensors"));
      auto const q = mtf::load<model>(b, "nowhere", {.names = names(), .arrays = from});
      auto const p = numbered<model>(b);
      std::uint64_t shards = 0;
      mtf::for_each_tensor(
          [&](auto, auto const& x, auto const& y) {
            CHECK(mtf::to_global(x) == mtf::to_global(y));
            shards += 4 * static_cast<std::uint64_t>(y.where().spec.local_size(b.ranks().mesh()));
          },
          p, q);
      CHECK(from->asked <= shards);  // without pads
      if (std::string(reads).empty()) CHECK(from->asked == from->all());
      if (std::string(reads).find("heads") != std::string::npos) CHECK(from->asked < from->all());

      auto const ends = std::make_shared<counted_source>(at.of("stored/model.safetensors"));
      ends->fails = true;
      CHECK(error_of([&] { mtf::load<model>(b, "nowhere", {.names = names(), .arrays = ends}); }) ==
            "some.format: it ends");
    });
  }
}

TEST_CASE("elements are converted on their way into another form") {
  scratch const at;
  for (char const* const text : rules)
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      b.layouts().add(mtf::layout_from(mtf::mesh_from(mesh_text), text));
      auto const p = numbered<model>(b);
      mtf::save(at.of("stored"), p, {.names = names()});
      auto const q = mtf::load<network<here<double>::tensor>>(b, at.of("stored"), {.names = names()});
      for (std::size_t l = 0; l < 2; ++l) {
        auto const x = mtf::to_global(p.blocks[l].o);
        auto const y = mtf::to_global(q.blocks[l].o);
        CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
      }
    });
}

template <class F>
void alone(F const& f) {
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    f(b);
  });
}

template <template <class...> class Tensor>
struct rest {
  Tensor<width> mask, copy;
  MTF_FIELDS(mask, copy);
};

TEST_CASE("a prefix that files lack, what is no parameter, and copies") {
  scratch const at;
  alone([&](thread_backend& b) {
    auto const p = numbered<model>(b);
    auto const written = [&](std::string const& prefix, bool copies) {
      rest<here<float>::tensor> more;
      more.mask = mtf::ones<decltype(more.mask)>(b);
      more.copy = copies ? p.blocks[0].scale : mtf::zeros<decltype(more.copy)>(b);
      fs::remove_all(at.of("stored"));
      mtf::save(at.of("stored"), p, {.names = names(prefix)});
      mtf::save(at.of("more"), more,
                {.names = {.tensors = {{"mask", prefix + "h.1.mask"}, {"copy", prefix + "copy"}}}});
      fs::copy(at.of("more/model.safetensors"), at.of("stored/more.safetensors"));
      fs::remove(at.of("stored/manifest.json"));
      std::ofstream(at.of("stored/model.safetensors.index.json"))
          << R"({"weight_map": {"a": "model.safetensors", "b": "more.safetensors"}})";
      return error_of([&] {
        auto const q = mtf::load<model>(b, at.of("stored"), {.names = names()});
        CHECK(mtf::to_global(q.blocks[1].v) == mtf::to_global(p.blocks[1].v));
      });
    };
    CHECK(written("net.", true) == "");
    CHECK(written("", true) == "");
    CHECK(written("", false) == at.of("stored/more.safetensors") +
                                    ": the tensor copy should be a copy of h.0.scale, as the structure that is read " +
                                    "has one tensor for both; they differ");
  });
}

TEST_CASE("numbers of layers that begin elsewhere") {
  scratch const at;
  alone([&](thread_backend& b) {
    auto const p = numbered<model>(b);
    auto shifted = names();
    for (auto& n : shifted.tensors) n.first = 5;
    mtf::save(at.of("stored"), p, {.names = shifted});
    auto const why = error_of([&] { mtf::load<model>(b, at.of("stored"), {.names = names()}); });
    CHECK(why.find("it has no tensor net.h.0.qkv (and 1 more like it), net.h.0.o (and 1 more like it), ") !=
          std::string::npos);
    CHECK(why.find("not in the structure that is read: net.h.5.both (and 1 more like it), ") != std::string::npos);
    CHECK(error_of([&] { mtf::load<model>(b, at.of("stored"), {.names = shifted}); }) == "");
  });
}

TEST_CASE("forms and names that cannot be") {
  scratch const at;
  alone([&](thread_backend& b) {
    auto const p = numbered<model>(b);
    auto const saved = [&](std::size_t i, std::string const& form) {
      auto wrong = names();
      wrong.tensors[i].form = form;
      return error_of([&] { mtf::save(at.of("stored"), p, {.names = wrong}); });
    };
    auto const of_q = [](std::string const& form) { return "the form \"" + form + "\" of the tensor blocks.0.q "; };
    CHECK(saved(0, "width 0/3 heads") == of_q("width 0/3 heads") + "lacks size");
    CHECK(saved(0, "width 0/3 heads size size") == of_q("width 0/3 heads size size") + "has size twice");
    CHECK(saved(0, "width (0/3 heads size") == of_q("width (0/3 heads size") + "has parentheses that do not match");
    CHECK(saved(0, "width 0/3 heads) size") == of_q("width 0/3 heads) size") + "has parentheses that do not match");
    for (std::string const word : {"depth", "3/3", "-1/3", "1/", "/3", "1/3x", "1"})
      CHECK(saved(0, "width " + word + " heads size") ==
            of_q("width " + word + " heads size") + "has \"" + word +
                "\", which is neither a dimension of the tensor nor a part, as 0/3");
    auto const not_whole = std::string("the array net.h.0.qkv is not whole: the tensors that are written there, of ") +
                           "which one is blocks.0.q, are not its parts, each once";
    CHECK(saved(1, "width 0/3 heads size") == not_whole);
    CHECK(saved(1, "width 1/4 heads size") == not_whole);
    auto lacks = names();
    lacks.tensors.erase(lacks.tensors.begin() + 3);
    CHECK(error_of([&] { mtf::save(at.of("stored"), p, {.names = lacks}); }) ==
          "the tensor blocks.0.o has no name in the files of another tool");
    CHECK(!fs::exists(at.of("stored")));
  });
}

TEST_CASE("texts beside the tensors: replaced if they are as they were written, else kept") {
  scratch const at;
  alone([&](thread_backend& b) {
    auto const p = numbered<model>(b);
    auto const save = [&](std::string const& text) {
      mtf::save(at.of("stored"), p, {.names = names(), .texts = {{"config.json", text}}});
    };
    auto const text = [&] {
      std::ifstream in(at.of("stored/config.json"));
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    save("{\"a\": 1}");
    CHECK(text() == "{\"a\": 1}");
    save("{\"a\": 2}");
    CHECK(text() == "{\"a\": 2}");
    // Also over what an interrupted one left.
    fs::create_directory(at.of("stored.writing"));
    std::ofstream(at.of("stored.writing/config.json")) << "{";
    save("{\"a\": 3}");
    CHECK(text() == "{\"a\": 3}");
    CHECK(!fs::exists(at.of("stored.writing")));
    auto const config = mtf::config_from(at.of("stored/config.json"));
    CHECK(config.number("a") == 3);
    std::ofstream(at.of("stored/config.json")) << "mine";
    CHECK(error_of([&] { save("{}"); }) ==
          at.of("stored/config.json") +
              " is there, and is no part of a checkpoint: it would be lost; move it away, or " +
              "give another directory");
    CHECK(text() == "mine");
    // Known before.
    auto const check = [&](std::string const& to) { return error_of([&] { mtf::check_can_save(b.ranks(), to); }); };
    CHECK(has(check(at.of("stored")), "/config.json is there, and is no part of a checkpoint"));
    CHECK(has(check(at.path), " is there, and is no checkpoint that could be replaced"));
    CHECK(has(check(at.of("stored/config.json/model")), "config.json/model.writing cannot be made: "));
    CHECK(has(check(at.of("model.safetensors")), "is a file's name, and a directory is written"));
    CHECK(check(at.of("another/model")) == "");
    CHECK(!fs::exists(at.of("another/model.writing")));
  });
}

TEST_CASE("values of a config file") {
  scratch const at;
  std::ofstream(at.path + ".json") << R"({"n": 12, "x": 1e-5, "yes": true, "no": false, "name": "gelu", "none": null,
    "list": [1], "deep": {"er": {"n": 3}}, "large": 99999999999999999999, "below": -1})";
  auto const c = mtf::config_from(at.path + ".json");
  fs::remove(at.path + ".json");
  CHECK(c.number("n") == 12);
  CHECK(c.real("n") == 12);
  CHECK(c.real("x") == 1e-5);
  CHECK(c.number("yes") == 1);
  CHECK(c.number("no") == 0);
  CHECK(c.text("name") == "gelu");
  CHECK(c.number("deep.er.n") == 3);
  for (char const* const key : {"none", "list", "deep", "not there"}) {
    CHECK(!c.contains(key));
    CHECK(!c.number(key));
    CHECK(!c.text(key));
  }
  auto const path = at.path + ".json: ";
  CHECK(error_of([&] { (void)c.number("name"); }) ==
        path + "name: expected a whole number from 0 to " + std::to_string(mtf::max_extent) + ", found \"gelu\"");
  CHECK(error_of([&] { (void)c.number("below"); }).find("found -1") != std::string::npos);
  CHECK(error_of([&] { (void)c.number("large"); }).find("below: ") == std::string::npos);
  CHECK(error_of([&] { (void)c.number("large"); }).find("large: expected a whole number") != std::string::npos);
  CHECK(error_of([&] { (void)c.real("name"); }) == path + "name: expected a number, found \"gelu\"");
  CHECK(error_of([&] { (void)c.text("n"); }) == path + "n: expected a text, found 12");
  CHECK(c.numbers() == std::map<std::string, std::int64_t>{{"n", 12}, {"yes", 1}, {"no", 0}, {"deep.er.n", 3}});
  CHECK(error_of([&] { mtf::config_from(at.path + ".json"); }) ==
        at.path + ".json cannot be read: No such file or directory");
  CHECK(mtf::config_of_text(R"({"n": 3})", "a text").number("n") == 3);
  CHECK(error_of([&] { mtf::config_of_text("[3]", "a text"); }) == "a text: expected a JSON object");
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
