// Continuous batching: each text is what it is alone, whatever comes, ends and goes away beside it.
// links: generate_tool
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <mtf/data/tokenizer.hpp>
#include <mtf/ops/create/random.hpp>

#include "../tools/writing/completion.hpp"
#include "../tools/writing/engine.hpp"
#include "../tools/writing/sampling.hpp"
#include "../tools/writing/text_stream.hpp"
#include "support/remembering_model.hpp"

namespace {

using mtf::tools::completion, mtf::tools::engine, mtf::tools::piece, mtf::tools::sampler;
using ids = std::vector<std::int32_t>;

/// A text, and what was told of it.
struct followed {
  std::shared_ptr<completion> of = std::make_shared<completion>();
  std::string text;
  ids tokens;
  std::string_view ended_by;
  int pieces_after_end = 0;
};
std::shared_ptr<followed> follow(ids prompt, std::uint64_t seed, std::int64_t most) {
  auto f = std::make_shared<followed>();
  f->of->prompt = std::move(prompt);
  f->of->key = mtf::random_key(seed);
  f->of->most = most;
  f->of->ends = {0};
  f->of->tell = [raw = f.get()](piece const& p) {
    if (!raw->ended_by.empty()) ++raw->pieces_after_end;
    raw->text += p.text;
    if (p.token) raw->tokens.push_back(p.token->id);
    raw->ended_by = p.ended_by;
  };
  return f;
}

/// The same, by a loop.
struct alone {
  ids tokens;
  std::string_view ended_by = "length";
};
alone by_itself(support::remembering_model const& model, completion const& of) {
  alone a;
  auto all = of.prompt;
  while (std::cmp_less(a.tokens.size(), of.most) && std::cmp_less(all.size(), model.positions)) {
    auto logits = model.behind(all);
    auto const bits = of.key.of("token").of(all.size()).bits();
    auto const id = sampler()(of.how, logits, of.prompt, a.tokens, static_cast<double>(bits >> 11U) * 0x1p-53);
    if (std::find(of.ends.begin(), of.ends.end(), id) != of.ends.end()) {
      a.ended_by = "stop";
      break;
    }
    a.tokens.push_back(id);
    all.push_back(id);
  }
  return a;
}

TEST_CASE("texts that come, end and go at any time are what each is alone") {
  std::mt19937 random(11);
  auto const drawn = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    support::remembering_model model;
    model.rows_of = drawn(1, 3);
    model.memory_of = drawn(1, 2) == 1 ? 1 : 96;
    model.positions = drawn(40, 200);
    engine of(model.on_ranks(), {.rows = drawn(1, 9), .chunk = drawn(1, 40), .ahead = drawn(1, 60)});
    std::vector<std::shared_ptr<followed>> all;
    std::vector<bool> left;
    for (int steps = 0; steps < 400; ++steps) {
      if (all.size() < 30 && drawn(0, 3) == 0)
        for (int some = drawn(1, 4); some > 0; --some) {
          ids prompt(static_cast<std::size_t>(drawn(1, static_cast<int>(model.positions) - 1)));
          for (auto& id : prompt) id = drawn(0, 255);
          auto const f = follow(prompt, static_cast<std::uint64_t>(drawn(0, 5)), drawn(1, 50));
          f->of->how = {.repetition_penalty = drawn(0, 1) == 0 ? 1 : 1.3,
                        .frequency_penalty = drawn(0, 3) * 0.25,
                        .temperature = drawn(0, 3) * 0.5,
                        .top_k = drawn(0, 2) * 5};
          all.push_back(f);
          left.push_back(false);
          CHECK(of.add(f->of));
        }
      if (!all.empty() && drawn(0, 9) == 0) {  // a client goes away, wherever its text is
        auto const i = static_cast<std::size_t>(drawn(0, static_cast<int>(all.size()) - 1));
        all[i]->of->gone = true;
        left[i] = true;
      }
      static_cast<void>(of.step());
    }
    while (of.step()) {
    }
    CHECK(of.running() == 0);
    CHECK(of.waiting() == 0);
    CHECK(model.most_memory <= (model.positions + 63) / 64 * 64 + 95);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(i);
      auto const& f = *all[i];
      auto const expected = by_itself(model, *f.of);
      CHECK(f.pieces_after_end == 0);
      if (left[i] && f.ended_by.empty()) {
        REQUIRE(f.tokens.size() <= expected.tokens.size());
        CHECK(std::equal(f.tokens.begin(), f.tokens.end(), expected.tokens.begin()));
      } else {
        CHECK(f.tokens == expected.tokens);
        CHECK(f.ended_by == expected.ended_by);
      }
    }
  }
}

TEST_CASE("rows are as many as are needed") {
  support::remembering_model model;
  engine of(model.on_ranks(), {.rows = 16, .chunk = 8});
  auto const one = follow({1, 2, 3}, 1, 20);
  one->of->ends = {};
  of.add(one->of);
  while (of.step()) {
  }
  CHECK(model.most_rows == 1);
  std::vector<std::shared_ptr<followed>> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(follow({i, 2, 3}, 1, i == 0 ? 300 : 30));
    all.back()->of->ends = {};
    of.add(all.back()->of);
  }
  while (of.waiting() > 0) of.step();
  CHECK(model.most_rows == 16);
  while (of.running() > 1) of.step();
  auto const before = of.counts();
  while (of.step()) {
  }
  CHECK(of.counts().rows_stepped - before.rows_stepped == of.counts().steps - before.steps);
  for (auto const& f : all) CHECK(f->tokens == by_itself(model, *f->of).tokens);
}

TEST_CASE("a long prompt does not keep the others waiting") {
  support::remembering_model model;
  engine of(model.on_ranks(), {.rows = 4, .chunk = 10});
  auto const first = follow({1}, 1, 100);
  first->of->ends = {};
  of.add(first->of);
  of.step();
  auto const second = follow(ids(400, 7), 1, 5);
  of.add(second->of);
  // 40 pieces of it, and a token of the other with each.
  auto const before = first->tokens.size();
  for (int i = 0; i < 39; ++i) of.step();
  CHECK(second->tokens.empty());
  CHECK(first->tokens.size() == before + 39);
  of.step();
  CHECK(second->tokens.size() >= 1);
}

TEST_CASE("a queue takes as many as it may") {
  support::remembering_model model;
  engine of(model.on_ranks(), {.rows = 1, .chunk = 10, .waiting = 2});
  auto const a = follow({1}, 1, 5), b = follow({2}, 1, 5), c = follow({3}, 1, 5);
  CHECK(of.add(a->of));
  CHECK(of.add(b->of));
  CHECK_FALSE(of.add(c->of));
  b->of->gone = true;
  of.step();
  CHECK(of.add(c->of));
}

TEST_CASE("biases, the least number of tokens, and probabilities as the model has them") {
  support::remembering_model model;
  engine of(model.on_ranks(), {.rows = 4, .chunk = 10});
  auto const pushed = follow({1, 2}, 1, 6), long_one = follow({1, 2}, 3, 12), told = follow({9}, 1, 4);
  pushed->of->bias = {{65, 100.0F}};
  long_one->of->least = 12;
  long_one->of->bias = {{0, 50.0F}};  // the end, which is not drawn before
  std::vector<piece> pieces;
  told->of->most_likely = 3;
  told->of->how = {.repetition_penalty = 5, .temperature = 0.1, .top_k = 1};
  told->of->ends = {};
  told->of->tell = [&](piece const& p) { pieces.push_back(p); };
  for (auto const& f : {pushed, long_one, told}) of.add(f->of);
  while (of.step()) {
  }
  CHECK(pushed->tokens == ids(6, 65));
  CHECK(long_one->tokens.size() == 12);
  ids all{9};
  for (auto const& p : pieces) {
    // Whatever was done to the logits: of the softmax of those that the model gave.
    auto const z = model.behind(all);
    double sum = 0;
    for (auto const v : z) sum += std::exp(static_cast<double>(v));
    auto const expected = [&](std::int32_t id) { return z[static_cast<std::size_t>(id)] - std::log(sum); };
    CHECK(p.token->log_probability == doctest::Approx(expected(p.token->id)).epsilon(1e-5));
    REQUIRE(p.token->most_likely.size() == 3);
    CHECK(p.token->most_likely[0].second == doctest::Approx(*std::max_element(z.begin(), z.end()) - std::log(sum)));
    CHECK(p.token->most_likely[0].second >= p.token->most_likely[1].second);
    CHECK(p.token->most_likely[1].second >= p.token->most_likely[2].second);
    all.push_back(p.token->id);
  }
  CHECK(pieces.size() == 4);
}

TEST_CASE("what goes wrong with a text ends it alone") {
  support::remembering_model model;
  auto broken = model.on_ranks();
  auto const read = broken.read;
  broken.read = [&](ids const& tokens, std::int64_t start) {
    auto z = read(tokens, start);
    if (tokens.front() == 66) std::fill(z.begin(), z.end(), std::numeric_limits<float>::quiet_NaN());
    return z;
  };
  engine of(broken, {.rows = 4, .chunk = 10});
  auto const good = follow({65}, 1, 6), bad = follow({66}, 1, 6);
  of.add(good->of);
  of.add(bad->of);
  while (of.step()) {
  }
  CHECK(good->tokens == by_itself(model, *good->of).tokens);
  CHECK(bad->ended_by == "error");
  CHECK(bad->text.find("all logits are NaN") != std::string::npos);
  CHECK(of.running() == 0);
}

}  // namespace
