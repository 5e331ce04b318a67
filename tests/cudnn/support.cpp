// What attention gives to cuDNN, cuDNN has: its own answer for a Hopper card, which need not be here (hopper.json has
// the properties that cuDNN asks a device for).
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>

#include <mtf/kokkos/vendor/fused_attention.hpp>

using mtf::visible;
using mtf::backend::attention_shape;

namespace {

struct asked {
  char const* name;
  std::int64_t batch, heads, shared, queries, keys, head;
  visible seen;
  bool supported = true;
};

/// [batch, sequence, heads, d_head], as models have it.
attention_shape shape_of(asked const& a) {
  std::int64_t const of_keys = a.heads / a.shared, q_row = a.heads * a.head, k_row = of_keys * a.head;
  attention_shape s;
  s.batch = {.ndim = 3, .extent = {a.batch, of_keys, a.shared}, .stride = {}};
  for (auto const o : {mtf::backend::of_q, mtf::backend::of_out})
    s.batch.stride[o] = {a.queries * q_row, a.shared * a.head, a.head};
  for (auto const o : {mtf::backend::of_k, mtf::backend::of_v}) s.batch.stride[o] = {a.keys * k_row, a.head, 0};
  s.queries = a.queries;
  s.keys = a.keys;
  s.head = s.values = a.head;
  s.q_row = s.out_row = q_row;
  s.k_row = s.v_row = k_row;
  s.seen = a.seen;
  return s;
}

}  // namespace

int main(int, char** argv) try {
  std::ifstream in(argv[1]);
  std::string const device{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  asked const all[]{
      {"GPT-2", 8, 12, 1, 1024, 1024, 64, visible::causal()},
      {"GPT-2 XL", 16, 25, 1, 1024, 1024, 64, visible::causal()},
      {"an encoder", 8, 12, 1, 512, 512, 64, visible::everything()},
      {"Llama, 1 B", 4, 32, 4, 4096, 4096, 64, visible::causal()},
      {"Llama, 8 B", 1, 32, 4, 8192, 8192, 128, visible::causal()},
      {"a window", 2, 8, 1, 2048, 2048, 64, visible::window(512)},
      {"behind a cache", 2, 8, 2, 256, 1024, 64, visible::causal(768)},
      {"a window behind a cache", 2, 8, 1, 256, 1024, 64, visible::window(128, 768)},
      {"an encoder's keys", 2, 8, 1, 256, 1000, 64, visible::everything()},
      {"odd lengths", 2, 8, 1, 1001, 1001, 64, visible::causal()},
      {"heads of 80", 2, 8, 1, 1024, 1024, 80, visible::causal()},
      {"heads of 256", 2, 8, 1, 1024, 1024, 256, visible::causal()},
  };
  int wrong = 0;
  for (auto const& a : all) {
    auto const form = mtf::kokkos::fused_shape_of(shape_of(a), 0.125);
    auto const why = form ? mtf::kokkos::no_fused_attention(*form, device) : "it is of no such form";
    std::printf("%-24s %s\n", a.name, why ? why->c_str() : "cuDNN's");
    wrong += why ? 1 : 0;
  }
  return wrong == 0 ? 0 : 1;
} catch (std::exception const& e) {
  std::printf("%s\n", e.what());
  return 1;
}
