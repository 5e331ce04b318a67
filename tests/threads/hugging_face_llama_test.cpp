// Llamas that transformers saved: support/hugging_face.hpp.
// links: checkpoint
// compilers: first
// devices: none
#include <array>
#include <cstdint>
#include <string>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "../models/llama/config.hpp"
#include "../models/llama/generation.hpp"
#include "support/hugging_face.hpp"

namespace {

struct llama {
  using sizes = mtf::llama::any_sizes;
  using model = mtf::llama::generating<sizes>;
  static inline std::string const references = MTF_TEST_DIR "/reference/hugging_face/";
  static constexpr std::array<char const*, 2> names{"llama", "llama-tied"};  // the second with three heads of keys
  static constexpr std::array<char const*, 8> layouts{
      "",           "batch:p",           "kv_heads:p;d_ff:p", "batch:p;kv_heads:q;d_ff:q",
      "sequence:p", "group:p;d_model:q", "d_head:p",          "batch:p;kv_heads:q;d_ff:q;vocab:q"};
  static constexpr std::array<char const*, 7> generation_layouts{"",
                                                                 "batch:p",
                                                                 "kv_heads:p;d_ff:p;vocab:p",
                                                                 "batch:p;kv_heads:q;d_ff:q;vocab:q",
                                                                 "memory:p;vocab:q",
                                                                 "group:p;d_model:q",
                                                                 "d_head:p"};

  static constexpr auto logits(auto const& p, auto const& ids, auto const& config) {
    return model::logits(p, ids, model::settings_from_config(config));
  }
  static auto continued(auto const& p, auto& c, auto const& ids, auto const& places, auto const& at,
                        auto const& config) {
    return model::continued(p, c, ids, places, at, model::settings_from_config(config));
  }
  static auto loss(auto const& config) {
    return [s = model::settings_from_config(config)](auto const& p, auto const& x, auto const& y) {
      return model::loss(p, x, y, s);
    };
  }
};
using checks = hugging_face::checks<llama>;

TEST_CASE("logits are transformers'") { checks::logits(); }
TEST_CASE("greedy tokens are transformers', 64 of them, from a cache") { checks::greedy(); }
TEST_CASE("a row is what it is alone, to the bit") { checks::rows(); }
TEST_CASE("20 steps of training are PyTorch's") { checks::losses(); }
TEST_CASE("written back, the arrays are as they were, to the bit") { checks::written(); }
TEST_CASE("YaRN's numbers are read as transformers has them") {
  auto const s = mtf::llama::settings_of_config({"config.json",
                                                 {{"rope_theta", "1000.0"},
                                                  {"rope_scaling.type", "\"yarn\""},
                                                  {"rope_scaling.original_max_position_embeddings", "128"},
                                                  {"rope_scaling.mscale", "0.7"},
                                                  {"rope_scaling.mscale_all_dim", "1.0"},
                                                  {"rope_scaling.truncate", "false"},
                                                  {"max_position_embeddings", "2048"}}});
  CHECK(s.scaling == mtf::llama::rotary_scaling::yarn);
  CHECK(s.theta == 1000);
  CHECK(s.factor == 16);
  CHECK_FALSE(s.truncate);
  CHECK(s.beta_fast == 32);
  CHECK(s.beta_slow == 1);
  CHECK(s.attention_factor == doctest::Approx(0.934877992648));  // (0.07 log 16 + 1) / (0.1 log 16 + 1)
}

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
