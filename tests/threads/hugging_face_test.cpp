// Models that transformers saved (tests/reference/make_hugging_face.py): its logits, greedy tokens and training losses
// under layouts; written back, the same arrays to the bit.
// links: checkpoint
// compilers: first
// devices: none
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/checkpoint/config_file.hpp>
#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/checkpoint/save.hpp>

#include "../models/gpt2/config.hpp"
#include "../models/gpt2/model.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

using model = mtf::gpt2::model<mtf::gpt2::any_sizes>;
template <class T>
using here = mtf::place<T, mtf::any_layout<>, thread_backend>;
using parameters = model::parameters<here<float>::tensor>;
using tokens = here<std::int32_t>::tensor<model::batch, model::sequence>;

struct text : mtf::dim<"text", 72> {};
struct steps : mtf::dim<"steps", 20> {};
template <template <class...> class Tensor>
struct expected_ids {
  Tensor<model::batch, model::sequence> tokens, labels;
  MTF_FIELDS(tokens, labels);
};
template <template <class...> class Tensor>
struct expected_text {
  Tensor<text> greedy;
  MTF_FIELDS(greedy);
};
template <template <class...> class Tensor>
struct expected_logits {
  Tensor<model::batch, model::sequence, model::vocab> logits;
  MTF_FIELDS(logits);
};
template <template <class...> class Tensor>
struct expected_losses {
  Tensor<steps> losses;
  MTF_FIELDS(losses);
};

std::string const references = MTF_TEST_DIR "/reference/hugging_face/";
constexpr std::array<char const*, 2> models{"gpt2", "gpt2-untied"};

/// Layouts on p:2;q:2, and a multiple that the vocabulary is stored as.
constexpr std::array<std::pair<char const*, int>, 7> layouts{{{"", 1},
                                                              {"batch:p", 1},
                                                              {"heads:p;d_ff:p", 1},
                                                              {"batch:p;heads:q;d_ff:q", 1},
                                                              {"sequence:p", 1},
                                                              {"batch:p;d_model:q", 1},
                                                              {"batch:p;heads:q;d_ff:q;vocab:q", 2}}};

mtf::extents_value sizes(std::string const& name, std::int64_t batch, std::int64_t sequence, int pad_to) {
  auto asked = model::sizes_from_config(mtf::config_from(references + name + "/config.json"));
  asked.give("batch", batch);
  asked.give("sequence", sequence);
  asked.give("vocab", asked.find("vocab").value(), pad_to);
  return mtf::gpt2::any_sizes::completed(asked);
}
template <class F>
void under_layouts(F const& f) {
  for (auto const& [rules, pad_to] : layouts) {
    CAPTURE(rules);
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&, rules = rules, pad_to = pad_to](thread_backend& b) {
      b.layouts().add(mtf::layout_from(mtf::mesh_from("p:2;q:2"), rules));
      f(b, pad_to);
    });
  }
}
parameters loaded(thread_backend& b, std::string const& name) {
  return mtf::load<parameters>(b, references + name, {.names = mtf::gpt2::names_in_files()});
}
template <class Structure>
Structure expected(thread_backend& b, std::string const& name) {
  return mtf::load<Structure>(b, references + name + "/expected.safetensors", {.may_be_left_over = {"*"}});
}

TEST_CASE("logits are transformers'") {
  for (std::string const name : models)
    under_layouts([&](thread_backend& b, int pad_to) {
      b.layouts().give(sizes(name, 4, 16, pad_to));
      auto const p = loaded(b, name);
      auto const ids = expected<expected_ids<here<std::int32_t>::tensor>>(b, name);
      auto const theirs = mtf::to_global(expected<expected_logits<here<float>::tensor>>(b, name).logits);
      auto const ours = mtf::to_global(model::logits(p, ids.tokens));
      REQUIRE(ours.size() == theirs.size());
      float largest = 0, difference = 0;
      for (std::size_t i = 0; i < ours.size(); ++i) {
        largest = std::max(largest, std::abs(theirs[i]));
        difference = std::max(difference, std::abs(ours[i] - theirs[i]));
      }
      CHECK(largest > 1);
      CHECK(difference <= 1e-5F * largest);
    });
}

TEST_CASE("greedy tokens are transformers', 64 of them") {
  for (std::string const name : models)
    under_layouts([&](thread_backend& b, int pad_to) {
      b.layouts().give(sizes(name, 2, 72, pad_to));
      auto const p = loaded(b, name);
      auto const theirs = mtf::to_global(expected<expected_text<here<std::int32_t>::tensor>>(b, name).greedy);
      std::vector<std::int32_t> ids(2 * 72);
      for (std::size_t row = 0; row < 2; ++row) std::copy_n(theirs.begin(), 8, ids.begin() + row * 72);
      for (std::size_t at = 8; at < 72; ++at) {
        auto const logits = mtf::to_global(model::logits(p, mtf::from_global<tokens, model::vocab>(b, ids)));
        for (std::size_t row = 0; row < 2; ++row) {
          auto const* const next = logits.data() + (row * 72 + at - 1) * 61;
          ids[row * 72 + at] = static_cast<std::int32_t>(std::max_element(next, next + 61) - next);
        }
      }
      CHECK(std::equal(theirs.begin(), theirs.end(), ids.begin()));
      CHECK(std::equal(theirs.begin(), theirs.end(), ids.begin() + 72));
    });
}

TEST_CASE("20 steps of training are PyTorch's") {
  for (std::string const name : models)
    under_layouts([&](thread_backend& b, int pad_to) {
      b.layouts().give(sizes(name, 4, 16, pad_to));
      auto p = loaded(b, name);
      auto const ids = expected<expected_ids<here<std::int32_t>::tensor>>(b, name);
      auto const losses = mtf::to_global(expected<expected_losses<here<double>::tensor>>(b, name).losses);
      mtf::adamw<parameters> optimizer(
          b, {.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8, .weight_decay = 0, .clip_norm = 1});
      for (double const theirs : losses) {
        auto const [loss, gradients] = mtf::value_and_grad([](auto const& q, auto const& x, auto const& y) {
          return model::loss(q, x, y);
        })(std::as_const(p), ids.tokens, ids.labels);
        CHECK(std::abs(mtf::item(loss) - theirs) <= 1e-4 * theirs);
        optimizer.update(b, p, gradients, 1e-2);
      }
    });
}

/// A file's header and bytes of arrays.
std::pair<mtf::safetensors_header, std::string> file(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string const all(std::istreambuf_iterator<char>(in), {});
  auto header = mtf::safetensors_from(all, all.size(), path);
  auto data = all.substr(header.data);
  return {std::move(header), std::move(data)};
}

TEST_CASE("written back, the arrays are as they were, to the bit") {
  for (std::string const name : models) {
    auto const [theirs, their_data] = file(references + name + "/model.safetensors");
    under_layouts([&](thread_backend& b, int pad_to) {
      std::string const to = "hugging_face_test.written";
      b.layouts().give(sizes(name, 4, 16, pad_to));
      for (int twice = 0; twice < 2; ++twice)
        mtf::save(to, loaded(b, name), {.names = mtf::gpt2::names_in_files(), .texts = {{"config.json", "{}\n"}}});
      auto const [ours, our_data] = file(to + "/model.safetensors");
      CHECK(ours.metadata == theirs.metadata);
      REQUIRE(ours.arrays.size() == theirs.arrays.size());
      auto const bytes = [](mtf::stored_array const& a, std::string const& data) {
        return data.substr(a.begin, a.end - a.begin);
      };
      for (auto const& a : ours.arrays) {
        auto const found =
            std::find_if(theirs.arrays.begin(), theirs.arrays.end(), [&](auto const& x) { return x.name == a.name; });
        REQUIRE(found != theirs.arrays.end());
        CHECK(a.shape == found->shape);
        CHECK(bytes(a, our_data) == bytes(*found, their_data));
      }
      // With the checksums of a manifest.
      auto const again = mtf::load<parameters>(b, to, {.names = mtf::gpt2::names_in_files()});
      CHECK(mtf::to_global(again.blocks[2].wv) == mtf::to_global(loaded(b, name).blocks[2].wv));
      b.ranks().any(false);
      if (b.ranks().rank() == 0) std::filesystem::remove_all(to);
      b.ranks().any(false);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
