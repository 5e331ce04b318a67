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
  static constexpr std::array<char const*, 2> names{"gpt2", "gpt2-untied"};
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

  static constexpr auto logits(auto const& p, auto const& ids, auto const&) { return model::logits(p, ids); }
  static auto continued(auto const& p, auto& c, auto const& ids, auto const& places, std::int64_t start, auto const&) {
    return model::continued(p, c, ids, places, start);
  }
  static auto loss(auto const&) {
    return [](auto const& p, auto const& x, auto const& y) { return model::loss(p, x, y); };
  }
};
using checks = hugging_face::checks<gpt2>;

TEST_CASE("logits are transformers'") { checks::logits(); }
TEST_CASE("greedy tokens are transformers', 64 of them, from a cache") { checks::greedy(); }
TEST_CASE("20 steps of training are PyTorch's") { checks::losses(); }
TEST_CASE("written back, the arrays are as they were, to the bit") { checks::written(); }

}  // namespace

int main(int argc, char** argv) {
  thread_backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
