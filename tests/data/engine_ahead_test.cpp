// Tokens that the ranks find themselves: the texts are those of tokens that are drawn of logits one by one, to the
// token, whatever ends and comes meanwhile.
// links: generate_tool
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <mtf/ops/create/random.hpp>

#include "../tools/writing/completion.hpp"
#include "../tools/writing/engine.hpp"
#include "support/remembering_model.hpp"

namespace {

using mtf::tools::completion, mtf::tools::engine, mtf::tools::piece;
using ids = std::vector<std::int32_t>;

/// A text that comes after so many steps, and goes away after so many.
struct asked {
  ids prompt, ends;
  mtf::tools::sampling how;
  std::uint64_t seed = 1;
  std::int64_t most = 20, least = 0;
  std::vector<std::pair<std::int32_t, float>> bias = {};
  std::optional<std::int64_t> most_likely = {};
  int comes = 0, goes = std::numeric_limits<int>::max();
};
struct written {
  ids tokens;
  std::string_view ended_by;
  int pieces_after_end = 0;
};

/// What the texts come to.
std::vector<written> write(mtf::tools::model_on_ranks const& model, mtf::tools::engine_limits const& limits,
                           std::vector<asked> const& texts) {
  engine of(model, limits);
  std::vector<written> all(texts.size());
  std::vector<std::shared_ptr<completion>> who;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto const& text = texts[i];
    auto& c = *who.emplace_back(std::make_shared<completion>());
    c.prompt = text.prompt;
    c.how = text.how;
    c.key = mtf::random_key(text.seed);
    c.most = text.most;
    c.least = text.least;
    c.ends = text.ends;
    c.bias = text.bias;
    c.most_likely = text.most_likely;
    c.tell = [&to = all[i]](piece const& p) {
      if (!to.ended_by.empty()) ++to.pieces_after_end;
      if (p.token) to.tokens.push_back(p.token->id);
      to.ended_by = p.ended_by;
    };
  }
  bool more = true;
  for (int n = 0; n < 60 || more; ++n) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].comes == n) CHECK(of.add(who[i]));
      if (texts[i].goes == n) who[i]->gone = true;
    }
    more = of.step();
  }
  CHECK(of.running() == 0);
  return all;
}

constexpr mtf::tools::sampling most_likely{.temperature = 0};

TEST_CASE("what the ranks find is what is drawn of logits") {
  std::mt19937 random(7);
  auto const any = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::int64_t went_on = 0, drew = 0;
  for (int round = 0; round < 80; ++round) {
    CAPTURE(round);
    support::remembering_model model;
    model.rows_of = any(1, 3);
    model.memory_of = any(1, 2) == 1 ? 1 : 96;
    model.positions = any(40, 150);
    mtf::tools::engine_limits const limits{.rows = any(1, 9), .chunk = any(1, 40), .ahead = any(1, 60)};
    std::vector<asked> texts(static_cast<std::size_t>(any(1, 14)));
    for (auto& t : texts) {
      t.prompt.resize(static_cast<std::size_t>(any(1, any(1, static_cast<int>(model.positions) - 1))));
      for (auto& id : t.prompt) id = any(0, 255);
      t.ends = any(0, 2) == 0 ? ids{} : ids{100, 0, 101};  // of 27 letters
      t.how = most_likely;
      t.how.top_k = any(0, 3);
      if (any(0, 2) == 0) t.how.temperature = any(1, 3) * 0.5;
      if (any(0, 3) == 0) t.how.top_p = 0.8;
      if (any(0, 3) == 0) t.how.min_p = 0.05;
      if (any(0, 9) == 0) t.how.repetition_penalty = 1.2;
      t.seed = static_cast<std::uint64_t>(any(0, 5));
      t.most = any(1, 60);
      if (any(0, 4) == 0) t.least = any(1, 20);
      if (any(0, 9) == 0) t.bias = {{102, 2.0F}};
      if (any(0, 9) == 0) t.most_likely = 2;
      t.comes = any(0, any(0, 40));
      if (any(0, 5) == 0) t.goes = t.comes + any(1, 30);
    }
    auto const expected = write(model.on_ranks(), limits, texts);
    CHECK(model.given == 0);
    for (bool const asynchronous : {false, true}) {
      CAPTURE(asynchronous);
      auto finding = support::remembering_model();
      finding.rows_of = model.rows_of;
      finding.memory_of = model.memory_of;
      finding.positions = model.positions;
      finding.finds = true;
      finding.asynchronous = asynchronous;
      auto const found = write(finding.on_ranks(), limits, texts);
      CHECK(finding.most_under_way <= (asynchronous ? 2 : 1));
      if (!asynchronous) CHECK(finding.went_on == 0);
      went_on += finding.went_on;
      drew += finding.drew;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        CAPTURE(i);
        CHECK(found[i].pieces_after_end == 0);
        if (texts[i].goes < std::numeric_limits<int>::max()) {  // it may have become longer or shorter until then
          auto const n = static_cast<std::ptrdiff_t>(std::min(found[i].tokens.size(), expected[i].tokens.size()));
          CHECK(std::equal(found[i].tokens.begin(), found[i].tokens.begin() + n, expected[i].tokens.begin()));
        } else {
          CHECK(found[i].tokens == expected[i].tokens);
          CHECK(found[i].ended_by == expected[i].ended_by);
        }
      }
    }
  }
  CHECK(went_on > 500);
  CHECK(drew > 500);
}

TEST_CASE("steps are asked for before the tokens of those before are read, and no more of them than are needed") {
  support::remembering_model model;
  model.finds = model.asynchronous = true;
  auto const long_one = write(model.on_ranks(), {}, {{.prompt = {1, 2}, .ends = {}, .how = most_likely}});
  CHECK(long_one[0].tokens.size() == 20);
  CHECK(long_one[0].ended_by == "length");
  CHECK(model.drawn == 0);
  CHECK(model.given == 1);
  CHECK(model.went_on == 18);  // (The first token is drawn of the prompt's logits.)
  CHECK(model.most_under_way == 2);
  // A text that ends where nobody could know: one step more than it has.
  auto const end = long_one[0].tokens[9];
  auto const first = std::find(long_one[0].tokens.begin(), long_one[0].tokens.end(), end) - long_one[0].tokens.begin();
  REQUIRE(first > 1);
  auto const before = model.went_on;
  auto const short_one = write(model.on_ranks(), {}, {{.prompt = {1, 2}, .ends = {end}, .how = most_likely}});
  CHECK(std::ssize(short_one[0].tokens) == first);
  CHECK(short_one[0].ended_by == "stop");
  CHECK(model.went_on - before == first);
}

TEST_CASE("tokens are drawn a step ahead too") {
  support::remembering_model drawn, model;
  model.finds = model.asynchronous = true;
  std::vector<asked> texts{{.prompt = {1, 2}, .ends = {}, .how = {.temperature = 0.9, .top_k = 7}},
                           {.prompt = {5}, .ends = {}, .how = {.temperature = 1.3, .top_p = 0.7}, .seed = 4}};
  auto const expected = write(drawn.on_ranks(), {}, texts), found = write(model.on_ranks(), {}, texts);
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(found[i].tokens == expected[i].tokens);
  CHECK(expected[0].tokens !=
        write(drawn.on_ranks(), {}, {{.prompt = {1, 2}, .ends = {}, .how = most_likely}})[0].tokens);
  CHECK(model.drawn == 0);
  CHECK(model.went_on > 15);
  CHECK(model.most_under_way == 2);
}

TEST_CASE("what needs the logits on the host gets them") {
  for (int const what : {1, 2, 3, 4, 5, 6}) {
    CAPTURE(what);
    support::remembering_model model;
    model.finds = model.asynchronous = true;
    asked one{.prompt = {3}, .ends = {0}, .how = most_likely, .most = 12};
    if (what == 1) one.how.repetition_penalty = 1.5;
    if (what == 2) one.how.frequency_penalty = 0.5;
    if (what == 3) one.how.presence_penalty = 0.5;
    if (what == 4) one.bias = {{1, 0.5F}};
    if (what == 5) one.most_likely = 0;
    if (what == 6) one.least = 12;
    auto const alone = write(model.on_ranks(), {}, {one});
    CHECK(alone[0].tokens.size() == 12);
    CHECK(model.given + model.went_on == 0);
    CHECK(model.drawn == 11);
    // One that does not, beside it: until it is alone.
    auto other = one;
    other.how = most_likely;
    other.bias = {};
    other.most_likely = {};
    other.least = 0;
    other.ends = {};
    other.most = 30;
    auto const both = write(model.on_ranks(), {}, {one, other});
    CHECK(both[0].tokens == alone[0].tokens);
    CHECK(model.given == 1);
    CHECK(model.went_on > 10);
  }
}

TEST_CASE("where all logits are NaN the text ends, and no other") {
  support::remembering_model model;
  model.finds = model.asynchronous = true;
  auto broken = model.on_ranks();
  std::vector<written> const expected =
      write(support::remembering_model().on_ranks(), {}, {{.prompt = {65}, .ends = {}, .how = most_likely}});
  int calls = 0;
  broken.found = [&, found = broken.found] {
    auto tokens = found();
    if (++calls == 5) tokens[1] = -1;
    return tokens;
  };
  auto const both =
      write(broken, {.rows = 2},
            {{.prompt = {65}, .ends = {}, .how = most_likely}, {.prompt = {66}, .ends = {}, .how = most_likely}});
  CHECK(both[0].tokens == expected[0].tokens);
  CHECK(both[0].ended_by == "length");
  CHECK(both[1].ended_by == "error");
  CHECK(both[1].tokens.size() < 8);
}

}  // namespace
