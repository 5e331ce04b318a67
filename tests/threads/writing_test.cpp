// A GPT-2 that transformers saved writes the same tokens, whoever finds them: the host from logits, or the ranks, which
// may then be a step ahead of it. Under layouts; of texts that come and end at different steps.
// links: generate_tool
// compilers: first
// devices: none
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <mtf/core/error.hpp>

#include "../models/gpt2/config.hpp"
#include "../models/gpt2/generation.hpp"
#include "../tools/model_source.hpp"
#include "../tools/model_under_layout.hpp"
#include "../tools/writing/cached_model.hpp"
#include "../tools/writing/completion.hpp"
#include "../tools/writing/engine.hpp"
#include "../tools/writing/most_likely.hpp"
#include "../tools/writing/sampling.hpp"
#include "support/ranks_as_threads.hpp"

namespace {

using gpt2 = mtf::gpt2::generating<mtf::gpt2::any_sizes>;
using mtf::tools::completion;
using ids = std::vector<std::int32_t>;

constexpr mtf::tools::sampling most_likely{.temperature = 0};

/// The tokens of some texts, on the rank that leads.
std::vector<ids> written(mtf::tools::model_on_ranks const& model, bool and_drawn) {
  mtf::tools::engine of(model, {.rows = 4, .chunk = 3, .ahead = 5});
  if (!model.speaks) {
    of.follow();
    return {};
  }
  std::vector<std::shared_ptr<completion>> all;
  for (std::size_t i = 0; i < 7; ++i) {
    auto const n = static_cast<std::int32_t>(i);
    auto& c = *all.emplace_back(std::make_shared<completion>());
    for (std::int32_t k = 0; k <= 2 * n % 5; ++k) c.prompt.push_back((7 * n + 11 * k + 3) % 61);
    c.how = most_likely;
    c.key = mtf::random_key(i);
    if (and_drawn && i % 2 == 0) c.how = {.temperature = 0.8, .min_p = 0.001, .top_k = 2 * n, .top_p = 0.95};
    if (and_drawn && i == 5) c.how.repetition_penalty = 1.2;
    c.most = 5 + 7 * n % 16;
    if (i % 2 == 1) c.ends = {static_cast<std::int32_t>(5 * i), 9, 21, 33};
    c.tell = [](mtf::tools::piece const&) {};
    CHECK(of.add(all.back()));
  }
  while (of.step()) {
  }
  of.end();
  std::vector<ids> tokens;
  for (auto const& c : all) tokens.push_back(c->answer);
  return tokens;
}

TEST_CASE("tokens that the ranks find are those that are drawn of logits") {
  mtf::tools::model_source const source(MTF_TEST_DIR "/reference/hugging_face/gpt2");
  std::vector<ids> under_none;
  for (std::string const rules : {"", "batch:p", "heads:p,d_ff:p,vocab:p", "batch:p,heads:q,d_ff:q,vocab:q",
                                  "memory:p,vocab:q", "batch:p,d_model:q"}) {
    CAPTURE(rules);
    auto const laid = mtf::tools::laid_out<gpt2>({"p:2,q:2", rules}, gpt2::sizes_from_config(source.config()));
    on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
      b.layouts().add(laid.layouts.front());
      b.layouts().give(laid.extents);
      mtf::tools::cached_model<gpt2, float, thread_backend> model(b, laid.layouts.front(), source);
      for (bool const and_drawn : {false, true}) {
        auto drawn = model.on_ranks();
        std::int64_t under_way = 0, most_under_way = 0;
        bool drew = false;
        auto finding = drawn;
        finding.go_on = [&, go_on = drawn.go_on](ids const& tokens, ids const& places,
                                                 std::vector<mtf::tools::row_sampling> const& how) {
          drew = drew || !how.empty();
          most_under_way = std::max(most_under_way, ++under_way);
          go_on(tokens, places, how);
        };
        finding.found = [&, found = drawn.found] {
          --under_way;
          return found();
        };
        auto ahead = finding;
        ahead.asynchronous = true;
        drawn.go_on = {};
        auto const expected = written(drawn, and_drawn);
        auto const found = written(finding, and_drawn);
        if (model.on_ranks().speaks) CHECK(most_under_way == 1);
        auto const found_ahead = written(ahead, and_drawn);
        if (!model.on_ranks().speaks) continue;
        CHECK(most_under_way == 2);
        CHECK(under_way == 0);
        CHECK(drew == and_drawn);
        CHECK(found == expected);
        CHECK(found_ahead == expected);
        if (!and_drawn && under_none.empty()) under_none = expected;
        if (!and_drawn) CHECK(expected == under_none);
      }
    });
  }
  CHECK(under_none.size() == 7);
  CHECK(under_none[1].size() != under_none[3].size());
}

struct row : mtf::dim<"row", 40> {};
struct vocab : mtf::dim<"vocab"> {};

TEST_CASE("the most likely token is the sampler's, also among NaN, infinities, zeros and equals") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 9> special{nan, -nan, infinity, -infinity, 0.0F, -0.0F, 1.0F, -1.0F, 1.0F};
  std::mt19937 random(5);
  for (std::int64_t const n : {1, 2, 3, 7, 61})
    for (std::size_t kinds = 1; kinds <= special.size(); ++kinds) {
      CAPTURE(n);
      CAPTURE(kinds);
      std::vector<float> logits(static_cast<std::size_t>(40 * n));
      auto const first = std::uniform_int_distribution<std::size_t>(0, special.size() - kinds)(random);
      for (auto& z : logits) z = special[first + std::uniform_int_distribution<std::size_t>(0, kinds - 1)(random)];
      ids expected;
      for (std::size_t i = 0; i < 40; ++i) {
        std::vector<float> z(logits.begin() + static_cast<std::ptrdiff_t>(i) * n,
                             logits.begin() + static_cast<std::ptrdiff_t>(i + 1) * n);
        try {
          expected.push_back(mtf::tools::sampler()(most_likely, z, {}, {}, 0.5));
        } catch (mtf::user_error const&) {
          expected.push_back(-1);
        }
      }
      for (std::string const rules : {"", "row:p", "vocab:q", "row:q;vocab:p"})
        on_ranks_of<mtf::mesh_of<"p:2;q:2">>([&](thread_backend& b) {
          using x = mtf::place<float, mtf::any_layout<>, thread_backend>::tensor<row, vocab>;
          b.layouts().add(mtf::layout_from<row, vocab>(mtf::mesh_from("p:2;q:2"), rules));
          b.layouts().give(mtf::extents_from("vocab:" + std::to_string(n) + "/2"));
          CHECK(mtf::to_global(mtf::tools::most_likely<vocab>(mtf::from_global<x>(b, logits))) == expected);
        });
    }
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
