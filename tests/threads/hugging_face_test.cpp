// GPT-2s that transformers saved: support/hugging_face.hpp.
// links: checkpoint
// compilers: first
// devices: none
#include <array>
#include <cstdint>
#include <string>

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "../models/gpt2/config.hpp"
#include "../models/gpt2/generation.hpp"
#include "support/hugging_face.hpp"

namespace {

struct gpt2 {
  using sizes = mtf::gpt2::any_sizes;
  using model = mtf::gpt2::generating<sizes>;
  static inline std::string const references = MTF_TEST_DIR "/reference/hugging_face/";
  static constexpr std::array<char const*, 3> names{"gpt2", "gpt2-untied", "gpt2-epsilon"};
  static constexpr std::array<char const*, 7> layouts{"",
                                                      "batch:p",
                                                      "heads:p;d_ff:p",
                                                      "batch:p;heads:q;d_ff:q",
                                                      "sequence:p",
                                                      "batch:p;d_model:q",
                                                      "batch:p;heads:q;d_ff:q;vocab:q"};
  static constexpr std::array<char const*, 6> generation_layouts{"",
                                                                 "batch:p",
                                                                 "heads:p;d_ff:p;vocab:p",
                                                                 "batch:p;heads:q;d_ff:q;vocab:q",
                                                                 "memory:p;vocab:q",
                                                                 "batch:p;d_model:q"};

  static auto logits(auto const& p, auto const& ids, auto const& config) {
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
using checks = hugging_face::checks<gpt2>;

TEST_CASE("logits are transformers'") { checks::logits(); }
TEST_CASE("greedy tokens are transformers', 64 of them, from a cache") { checks::greedy(); }
TEST_CASE("a row is what it is alone, to the bit") { checks::rows(); }
TEST_CASE("20 steps of training are PyTorch's") { checks::losses(); }
TEST_CASE("written back, the arrays are as they were, to the bit") { checks::written(); }

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
