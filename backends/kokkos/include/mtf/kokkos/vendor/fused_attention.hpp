#pragma once
// Attention as vendors' fused kernels take it: which of ours is of that form. No score is stored.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <mtf/backend/work.hpp>
#include <mtf/core/visible.hpp>

namespace mtf::kokkos {

using namespace backend;  // NOLINT: the words of the contract

/// Attention over [batch, heads, rows, width], with `shared` heads of queries for each head of keys.
struct fused_shape {
  struct strides {
    index batch = 0, head = 0, row = 0;
    bool operator==(strides const&) const = default;
  };
  /// Of the keys a query sees all; or those up to its own position; or up to that in which the last query sees the
  /// last.
  enum class band : std::uint8_t { everything, from_the_first, from_the_last };

  index batch = 1, heads = 1, shared = 1, queries = 1, keys = 1, head = 1, values = 1;
  strides q, k, v, out;
  band seen = band::everything;
  index window = 0;  // of those the most recent; 0: all
  double scale = 1;

  bool operator==(fused_shape const&) const = default;
};

/// Which keys a query sees, in a vendor's words; none, if these have no word for it.
inline std::optional<std::pair<fused_shape::band, index>> band_of(visible const& seen, index queries, index keys) {
  using band = fused_shape::band;
  if (seen.is_everything()) return std::pair(band::everything, index{0});
  constexpr index far = index{1} << 40;
  for (auto const& [from, offset] :
       {std::pair(band::from_the_first, index{0}), std::pair(band::from_the_last, keys - queries)}) {
    if (seen == visible::causal(offset)) return std::pair(from, index{0});
    index const window = far + offset + 1 - seen.first_key(far, 2 * far);
    if (window > 0 && seen == visible::window(window, offset)) return std::pair(from, window);
  }
  return {};
}

/// The same attention in that form; none: it is of no such form. Elements are bfloat16, rows multiples of 16 bytes.
inline std::optional<fused_shape> fused_shape_of(attention_shape const& of, double scale) {
  if (of.has_more() || of.lengths != nullptr || of.queries < 1 || of.keys < 1) return {};
  auto const seen = band_of(of.seen, of.queries, of.keys);
  if (!seen) return {};
  fused_shape s;
  s.queries = of.queries;
  s.keys = of.keys;
  s.head = of.head;
  s.values = of.values;
  s.seen = seen->first;
  s.window = seen->second;
  s.scale = scale;
  s.q.row = of.q_row;
  s.k.row = of.k_row;
  s.v.row = of.v_row;
  s.out.row = of.out_row;
  // Loops from the innermost: heads that share keys, heads, sequences. (collapsed loops: what can be one is.)
  auto const stride = [&](attention_operand o, int d) { return of.batch.stride[o][static_cast<std::size_t>(d)]; };
  int d = of.batch.ndim - 1;
  auto const skip_ones = [&] {
    while (d >= 0 && of.batch.extent[static_cast<std::size_t>(d)] == 1) --d;
  };
  skip_ones();
  index q_apart = 0, out_apart = 0;  // of heads that share keys
  if (d >= 0 && stride(of_k, d) == 0 && stride(of_v, d) == 0) {
    s.shared = of.batch.extent[static_cast<std::size_t>(d)];
    q_apart = stride(of_q, d);
    out_apart = stride(of_out, d);
    --d;
    skip_ones();
  }
  s.heads = s.shared;
  s.q.head = q_apart;
  s.out.head = out_apart;
  bool const evenly =
      d >= 0 && (s.shared == 1 || (stride(of_q, d) == s.shared * q_apart && stride(of_out, d) == s.shared * out_apart));
  if (evenly) {
    s.heads *= of.batch.extent[static_cast<std::size_t>(d)];
    s.k.head = stride(of_k, d);
    s.v.head = stride(of_v, d);
    if (s.shared == 1) {
      s.q.head = stride(of_q, d);
      s.out.head = stride(of_out, d);
    }
    --d;
    skip_ones();
  }
  if (d >= 0) {
    s.batch = of.batch.extent[static_cast<std::size_t>(d)];
    s.q.batch = stride(of_q, d);
    s.k.batch = stride(of_k, d);
    s.v.batch = stride(of_v, d);
    s.out.batch = stride(of_out, d);
    --d;
    skip_ones();
  }
  if (d >= 0) return {};  // more loops than it has
  for (auto const& x : {s.q, s.k, s.v, s.out})
    for (index const by : {x.batch, x.head, x.row})
      if (by % 8 != 0) return {};
  if (s.head % 8 != 0 || s.values % 8 != 0 || s.head > 256 || s.values > 256) return {};
  if ((s.batch > 1 && (s.k.batch == 0 || s.v.batch == 0)) || (s.heads > s.shared && (s.k.head == 0 || s.v.head == 0)))
    return {};
  return s;
}

#if defined(MTF_CUDNN)
/// cuDNN's, for the program's device; made and used by one thread. Its source is backends/kokkos/compiled/cudnn.cpp:
/// cuDNN's headers take half a minute to compile.
class fused_attention {
 public:
  fused_attention();
  ~fused_attention();
  fused_attention(fused_attention const&) = delete;
  fused_attention& operator=(fused_attention const&) = delete;

  /// Whether cuDNN has both passes of it, bit by bit the same in every run. Asked once for each shape.
  bool has(fused_shape const& of);
  /// The bytes that a pass needs besides.
  std::size_t forward_bytes(fused_shape const& of);
  std::size_t backward_bytes(fused_shape const& of);
  /// In the order of the stream, a cudaStream_t. `stats`: the logarithm of the sum of each query's exponentials,
  /// [batch, heads, queries].
  void forward(void* stream, fused_shape const& of, void* out, float* stats, void const* q, void const* k,
               void const* v, void* workspace);
  void backward(void* stream, fused_shape const& of, void* dq, void* dk, void* dv, void const* q, void const* k,
                void const* v, void const* out, float const* stats, void const* dout, void* workspace);

 private:
  struct state;
  state* state_ = nullptr;  // from the first question on
};

/// Whether cuDNN would have it on a device of which it wrote these properties (their JSON), which need not be here; if
/// not, why.
std::optional<std::string> no_fused_attention(fused_shape const& of, std::string const& device);
#endif

}  // namespace mtf::kokkos
