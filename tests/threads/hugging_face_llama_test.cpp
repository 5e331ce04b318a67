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
  static auto continued(auto const& p, auto& c, auto const& ids, auto const& places, std::int64_t start,
                        auto const& config) {
    return model::continued(p, c, ids, places, start, model::settings_from_config(config));
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
TEST_CASE("20 steps of training are PyTorch's") { checks::losses(); }
TEST_CASE("written back, the arrays are as they were, to the bit") { checks::written(); }

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
