// GPT-2's vocabulary, 50257, over eight ranks: padded to 50264, in types and as values, it trains as on one rank.
// Its checkpoint has 50257 rows.
// links: checkpoint
// devices: none
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/checkpoint/extents_in.hpp>
#include <mtf/checkpoint/save.hpp>

#include "../models/gpt2/config.hpp"
#include "../models/gpt2/model.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

struct in_types {
  struct batch : mtf::dim<"batch", 2> {};
  struct sequence : mtf::dim<"sequence", 4> {};
  struct memory : mtf::dim<"memory", 4> {};
  struct d_model : mtf::dim<"d_model", 8> {};
  struct heads : mtf::dim<"heads", 2> {};
  struct d_head : mtf::dim<"d_head", 4> {};
  struct d_ff : mtf::dim<"d_ff", 16> {};
  struct vocab : mtf::dim<"vocab", 50257, mtf::pad_to<8>> {};
  struct layers : mtf::dim<"layers", 2> {};
  static constexpr bool tied_output = true;
};
mtf::extents_value sizes(std::int64_t pad_to) {
  mtf::extents_value asked{{"batch", 2}, {"sequence", 4}, {"d_model", 8},      {"heads", 2},
                           {"d_ff", 16}, {"layers", 2},   {"untied_output", 0}};
  asked.give("vocab", 50257, pad_to);
  return mtf::gpt2::any_sizes::completed(asked);
}

struct trained {
  std::vector<double> losses;      // and norms
  std::vector<double> embeddings;  // of some tokens, at the end
};

template <class Config, class Layout>
trained train(thread_backend& b, std::string const& file) {
  using model = mtf::gpt2::model<Config>;
  using here = mtf::place<double, Layout, thread_backend>;
  using parameters = typename model::template parameters<here::template tensor>;
  using tokens = typename mtf::place<std::int32_t, Layout, thread_backend>::template tensor<typename model::batch,
                                                                                            typename model::sequence>;
  auto p = model::template initial<parameters>(b, mtf::random_key(4));
  mtf::adamw<parameters, mtf::decay_weights, mtf::state_split_over<typename model::batch>> optimizer(
      b, {.weight_decay = 0.1, .clip_norm = 1});
  trained r;
  for (int step = 0; step < 3; ++step) {
    std::vector<std::int32_t> ids(8), labels(8);
    for (int i = 0; i < 8; ++i) {
      auto const at = static_cast<std::size_t>(i);
      ids[at] = (50256 - 6283 * i - step) % 50257;
      labels[at] = i == 3 ? -1 : (7919 * i + 50250 + step) % 50257;
    }
    auto const [loss, gradients] = mtf::value_and_grad<mtf::state_split_over<typename model::batch>>(
        [](auto const& q, auto const& x, auto const& y) { return model::loss(q, x, y); })(
        std::as_const(p), mtf::from_global<tokens, typename model::vocab>(b, ids),
        mtf::from_global<tokens, typename model::vocab>(b, labels));
    r.losses.push_back(mtf::item(loss));
    r.losses.push_back(optimizer.update(b, p, gradients, 0.01));
  }
  auto const table = mtf::to_global(p.token_embedding);
  CHECK(table.size() == 50257 * 8);
  for (std::size_t i = 0; i < table.size(); i += 6283) r.embeddings.push_back(table[i]);
  r.embeddings.push_back(table.back());
  if (!file.empty()) {
    mtf::save(file, p);
    auto const again = mtf::load<parameters>(b, file);
    CHECK(mtf::to_global(again.token_embedding) == table);
  }
  return r;
}

void check_near(trained const& found, trained const& expected) {
  REQUIRE(found.embeddings.size() == expected.embeddings.size());
  for (std::size_t i = 0; i < expected.losses.size(); ++i)
    CHECK(std::abs(found.losses[i] - expected.losses[i]) <= 1e-10 * std::abs(expected.losses[i]));
  for (std::size_t i = 0; i < expected.embeddings.size(); ++i)
    CHECK(std::abs(found.embeddings[i] - expected.embeddings[i]) <= 1e-9);
}

TEST_CASE("50257 tokens over eight ranks") {
  trained expected;
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    b.layouts().give(sizes(1));
    expected = train<mtf::gpt2::any_sizes, mtf::any_layout<>>(b, "");
  });
  std::string const file = "odd_vocabulary_test.checkpoint";
  for (char const* const text : {"model:8", "data:2;model:4", "data:8"}) {
    std::string const rules = std::string(text) == "model:8"  ? "vocab:model"
                              : std::string(text) == "data:8" ? "vocab:data"
                                                              : "batch:data;vocab:model";
    auto const each = [&](thread_backend& b) {
      b.layouts().add(mtf::layout_from(mtf::mesh_from(text), rules));
      b.layouts().give(sizes(8));
      auto const by_value = train<mtf::gpt2::any_sizes, mtf::any_layout<>>(b, file);
      check_near(by_value, expected);
      auto const stored = mtf::extents_in<typename mtf::gpt2::model<mtf::gpt2::any_sizes>::parameters<
          mtf::place<double, mtf::any_layout<>, thread_backend>::tensor>>(file);
      CHECK(stored.find("vocab") == 50257);
      CHECK(stored.find("layers") == 2);
      auto const typed = train<in_types, mtf::any_layout<>>(b, "");
      CHECK(typed.losses == by_value.losses);
      CHECK(typed.embeddings == by_value.embeddings);
    };
    if (std::string(text) == "model:8")
      on_ranks_of<mtf::mesh_of<"model:8">>(each);
    else if (std::string(text) == "data:8")
      on_ranks_of<mtf::mesh_of<"data:8">>(each);
    else
      on_ranks_of<mtf::mesh_of<"data:2;model:4">>(each);
  }
  std::filesystem::remove_all(file);
}

TEST_CASE("a layout that is a type") {
  trained expected;
  on_ranks_of<mtf::mesh<>>([&](thread_backend& b) {
    b.layouts().add({});
    b.layouts().give(sizes(1));
    expected = train<mtf::gpt2::any_sizes, mtf::any_layout<>>(b, "");
  });
  using mesh = mtf::mesh_of<"model:8">;
  on_ranks_of<mesh>([&](thread_backend& b) {
    check_near(train<in_types, mtf::layout_of<"model:8", "vocab:model", in_types::vocab>>(b, ""), expected);
  });
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
