#pragma once
// Descriptions of work on one rank's shard, as small values: extents and strides, in elements, no names. The typed
// operations compute them at compile time; backends execute them. They are all that crosses the name firewall
// (docs/design/operations.md, "Kernels see no names").
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/core/limits.hpp>
#include <mtf/core/visible.hpp>

namespace mtf::backend {

/// Counts and offsets of elements.
using index = std::int64_t;
/// One number for each loop of a nest.
using extents = std::array<index, max_dims>;

/// A loop nest over `ndim` extents, outermost first; operand o advances by stride[o][d] along loop d (0: broadcast).
template <int Operands>
struct loops {
  int ndim = 0;
  extents extent{};
  std::array<extents, Operands> stride{};

  /// The number of iterations.
  [[nodiscard]] constexpr index size() const {
    index n = 1;
    for (int d = 0; d < ndim; ++d) n *= extent[static_cast<std::size_t>(d)];
    return n;
  }
  bool operator==(loops const&) const = default;
};

/// f(offset of each operand) for each iteration of a nest, one after the other: for the host.
template <int Operands, class F>
constexpr void each(loops<Operands> const& l, F const& f) {
  for (index i = 0; i < l.size(); ++i) {
    std::array<index, Operands> at{};
    index rest = i;
    for (auto d = static_cast<std::size_t>(l.ndim); d-- > 0; rest /= l.extent[d])
      for (std::size_t o = 0; o < Operands; ++o) at[o] += rest % l.extent[d] * l.stride[o][d];
    f(at);
  }
}

/// The same nest with unit loops dropped and neighbours merged where every operand's strides allow it.
template <int Operands>
constexpr loops<Operands> collapsed(loops<Operands> const& in) {
  loops<Operands> out;
  for (int d = 0; d < in.ndim; ++d) {
    auto const from = static_cast<std::size_t>(d);
    if (in.extent[from] == 1) continue;
    bool merge = out.ndim > 0;
    for (std::size_t o = 0; merge && o < Operands; ++o)
      merge = out.stride[o][static_cast<std::size_t>(out.ndim - 1)] == in.stride[o][from] * in.extent[from];
    auto const to = static_cast<std::size_t>(merge ? out.ndim - 1 : out.ndim++);
    out.extent[to] = merge ? out.extent[to] * in.extent[from] : in.extent[from];
    for (std::size_t o = 0; o < Operands; ++o) out.stride[o][to] = in.stride[o][from];
  }
  if (out.ndim == 0) {
    out.ndim = 1;
    out.extent[0] = 1;
  }
  return out;
}

/// out[kept] = reduce over `reduced` of in[kept, reduced]. `kept` has operands (out, in); `reduced` has operand (in).
struct reduction {
  loops<2> kept;
  loops<1> reduced;
  bool operator==(reduction const&) const = default;
};

/// Where the gradient of a map's operand goes (null: it is not wanted): with the strides of the result; or, of an
/// operand that is one dense row of more than one element, repeated for all others, the sum over them.
struct map_gradient {
  void* at = nullptr;
  bool row = false;
  bool wanted = at != nullptr;  // said apart where a backend holds no data
};

/// c[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n], all strided. `batch` has operands (a, b, c).
/// One of (a_m, a_k), one of (b_k, b_n) is 1, and c_n is 1, unless that extent is 1.
struct contraction {
  loops<3> batch;
  index m = 1, n = 1, k = 1;
  index a_m = 0, a_k = 0, b_k = 0, b_n = 0, c_m = 0, c_n = 0;

  /// The smallest extent.
  [[nodiscard]] constexpr index size() const {
    index const narrow = m < n ? m : n;
    return narrow < k ? narrow : k;
  }
  /// Floating-point operations: a product and a sum count two.
  [[nodiscard]] constexpr double flops() const {
    return 2.0 * static_cast<double>(batch.size()) * static_cast<double>(m) * static_cast<double>(n) *
           static_cast<double>(k);
  }
  bool operator==(contraction const&) const = default;
};

/// What the strides of attention's batch are of.
enum attention_operand : std::uint8_t { of_q, of_k, of_v, of_out, of_bias, of_query_ids, of_key_ids, of_weights };

/// Attention of one rank: for each of `batch`, with operands as above, each query sees those of the keys that `seen`
/// says of their positions here. Rows of adjacent elements, `head` of queries and keys, `values` of values and results;
/// gradients have the strides of what they are of. A key's stride of 0 is that of one for several queries' heads.
struct attention_shape {
  loops<8> batch;
  index queries = 1, keys = 1, head = 1, values = 1;
  index q_row = 0, k_row = 0, v_row = 0, out_row = 0;  // from one row to the next
  visible seen;
  std::int32_t const* lengths = nullptr;  // for each of the batch, how many of the keys there are; null: all

  // What else may be said of scores and weights. A cap c makes c tanh(score / c) of a score, 0: nothing. The bias is
  // added then. Queries see keys of their own id. The weights are dropped as the elements of the global tensor are that
  // they would be: `first_weight`, and from query to query `weights_row`, besides the batch's strides.
  double soft_cap = 0;
  bool biased = false;
  index bias_query = 0, bias_key = 0;                           // strides
  std::int32_t const *query_ids = nullptr, *key_ids = nullptr;  // null: all see each other
  index query_ids_step = 0, key_ids_step = 0;
  double dropped = 0;  // the rate
  std::uint64_t drop_key = 0;
  index first_weight = 0, weights_row = 0;

  /// Scores are more than products with a factor, or weights are dropped.
  [[nodiscard]] constexpr bool has_more() const {
    return soft_cap != 0 || biased || query_ids != nullptr || dropped != 0;
  }
  /// Elements of all queries and keys, with those of results and values.
  [[nodiscard]] constexpr index elements() const { return batch.size() * (queries + keys) * (head + values); }
  /// The smallest extent of its products.
  [[nodiscard]] constexpr index size() const {
    index const rows = queries < keys ? queries : keys, width = head < values ? head : values;
    return rows < width ? rows : width;
  }
  /// Of one product of rows of this width with all rows that they see.
  [[nodiscard]] constexpr double flops(index width) const {
    return 2 * static_cast<double>(batch.size() * width) * seen.pairs(queries, keys);
  }
};

/// A tensor seen as [outer, n, inner]: outer*inner rows of n elements that lie `inner` apart.
struct rows {
  index outer = 1, n = 1, inner = 1;
  index stored = 0;  // if not 0: the rows have so many elements, of which the last are pads, beside these n
  /// The distance of outer rows.
  [[nodiscard]] constexpr index step() const { return (stored != 0 ? stored : n) * inner; }
  /// The number of rows.
  [[nodiscard]] constexpr index count() const { return outer * inner; }
  bool operator==(rows const&) const = default;
};

/// Which elements of the rows of scores are visible: of row r those that `seen` says of the query r / stride % queries,
/// on positions in the shard (visible::on_shard); if there are lengths, those of them below its length in all.
struct visible_rows {
  visible seen;
  index stride = 1, queries = 1;
  std::int32_t const* lengths = nullptr;
  index rows_a_length = 1;
  index first_key = 0;  // of the shard, among those that lengths count

  /// Of the n elements of row r.
  [[nodiscard]] constexpr visible_range operator()(index r, index n) const {
    if (lengths != nullptr) {
      index const left = lengths[r / rows_a_length] - first_key;
      n = left < 0 ? 0 : left < n ? left : n;
    }
    return seen.is_everything() ? visible_range{0, 0, n} : seen.keys(r / stride % queries, n);
  }
};

/// Where a shard lies in the global tensor: the global index of local element (i...) is offset + sum stride[0][d] i[d].
/// The local storage is dense and row-major over `local`'s extents.
struct placement {
  loops<1> local;
  index offset = 0;
};

}  // namespace mtf::backend

namespace mtf::detail {
using namespace backend;  // NOLINT: the library itself says these words everywhere
}  // namespace mtf::detail
