#pragma once
// Matrix products on the host: oneDNN, 2 or 3. The only file that knows it. Strides are passed on, primitives are made
// once for each shape, and scratch memory comes from the pool.
#include <cstddef>
#include <functional>
#include <optional>
#include <unordered_map>

#include <mtf/kokkos/gemm/bfloat16_units.hpp>
#include <mtf/kokkos/gemm/contract_loops.hpp>
#include <mtf/kokkos/gemm/contract_rows.hpp>
#include <mtf/kokkos/launch/copy.hpp>
#include <oneapi/dnnl/dnnl.hpp>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace mtf::kokkos {

#if !defined(_OPENMP)
// Debian's oneDNN uses OpenMP also in a program that is compiled without it. These are null if there is no OpenMP.
extern "C" {
__attribute__((weak)) int omp_get_max_threads();
__attribute__((weak)) void omp_set_num_threads(int);
}
#endif

/// oneDNN uses the calling thread's OpenMP team. While this lives, the team has no more threads than the execution
/// space instance.
class onednn_threads {
 public:
  explicit onednn_threads(int threads) : before_(has_openmp() ? omp_get_max_threads() : 1) {
    if (threads < before_) omp_set_num_threads(threads);
  }
  ~onednn_threads() {
    if (has_openmp()) omp_set_num_threads(before_);
  }
  onednn_threads(onednn_threads const&) = delete;
  onednn_threads& operator=(onednn_threads const&) = delete;

 private:
#if defined(_OPENMP)
  static constexpr bool has_openmp() { return true; }
#else
  static bool has_openmp() { return &omp_get_max_threads != nullptr && &omp_set_num_threads != nullptr; }
#endif
  int before_;
};

/// Some hypervisors offer AMX but hide its description: oneDNN 2.6 then dies of an illegal instruction at the first
/// bfloat16 product. To be called before the first primitive is made.
inline void avoid_undescribed_amx() {
  if (auto const has = bfloat16_units::here(); has.amx && !has.described)
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
}

/// oneDNN has two products of float matrices, its matmul and its older sgemm. Over a grid of sizes (oneDNN 2.6,
/// AVX-512, one and two threads) sgemm is faster by a seventh where b is plain, and up to 3.8 times (a transposed, n
/// 3072). The rule is of sizes alone, so that results are the same from run to run; at worst it chooses what takes 1.4
/// times as long.
constexpr bool sgemm_is_faster(contraction const& w) {
  constexpr index wide = 512, wider = 1024;
  if (w.batch.size() != 1) return false;
  if (w.b_n != 1) return w.m >= wider && w.n >= wider;
  return w.a_k == 1 ? w.n >= wide : w.n >= wider || w.m < wider;
}

inline void sgemm(contraction const& w, float const* a, float const* b, float* c, bool accumulate) {
  bool const plain_a = w.a_k == 1, plain_b = w.b_n == 1;
  // The stride of a unit loop means nothing, but is checked.
  index const lda = plain_a ? std::max(w.a_m, w.k) : std::max(w.a_k, w.m);
  index const ldb = plain_b ? std::max(w.b_k, w.n) : std::max(w.b_n, w.k);
  auto const status = dnnl::sgemm(plain_a ? 'N' : 'T', plain_b ? 'N' : 'T', w.m, w.n, w.k, 1.0F, a, lda, b, ldb,
                                  accumulate ? 1.0F : 0.0F, c, std::max(w.c_m, w.n));
  dnnl::error::wrap_c_api(static_cast<dnnl_status_t>(status), "dnnl_sgemm");
}

/// Does oneDNN read a transposed a badly? Where its rows lie a multiple of 2 KiB apart they share sets of the caches,
/// and a product with a narrow result reaches 39 GFLOP/s in place of 85 (m 1024, or 2048, n 256; oneDNN 2.6, AVX-512,
/// one thread), 63 at 2 KiB itself. Copied, a part at a time, to rows with another distance, it reaches 82, the copy
/// included. Such are the gradients of weights where d_model is 512 or a multiple of it.
constexpr bool has_aliased_rows(contraction const& w) {
  constexpr index bytes = 2048, narrow = 512, narrowest = 32;
  return w.k > 0 && w.a_k != 1 && w.a_k * static_cast<index>(sizeof(float)) % bytes == 0 && w.n >= narrowest &&
         w.n <= narrow && w.m >= narrow && w.batch.size() == 1;
}

/// c = a b, or added to it, for a with such rows.
template <class Exec>
void sgemm_with_aliased_rows(device<Exec>& on, contraction const& w, float const* a, float const* b, float* c,
                             bool accumulate) {
  constexpr index part = 512, line = 16;  // rows copied at a time, elements of a line of the cache
  contraction piece = w;
  piece.a_k = (w.m / line + 1) * line;
  if (piece.a_k % 512 == 0) piece.a_k += line;
  workspace<float, Exec> copied(on, std::min(part, w.k) * piece.a_k);
  for (index k = 0; k < w.k; k += part) {
    piece.k = std::min(part, w.k - k);
    copy(on, loops<2>{.ndim = 2, .extent = {piece.k, w.m}, .stride = {extents{piece.a_k, 1}, extents{w.a_k, 1}}},
         copied.get(), a + k * w.a_k);
    on.exec.fence();
    sgemm(piece, copied.get(), b + k * w.b_k, c, accumulate || k > 0);
  }
}

/// oneDNN 3 reads several plain b of one row each, with gaps between them, as if they were transposed (3.12.1).
constexpr bool is_misread(contraction const& w) { return DNNL_VERSION_MAJOR >= 3 && w.k == 1 && w.batch.size() != 1; }

/// oneDNN 3 with AMX, whose tiles take bfloat16 in pairs, multiplies what follows an odd number of elements of a row of
/// a plain a by 0: the next row's first ones, or whatever lies in a gap. A NaN there becomes a NaN of this row. Rows of
/// even numbers and a transposed a are read as they are (3.12.1; 2.6 reads all as they are, and so does 3 without AMX).
inline bool reads_behind_rows(bfloat16_units const& has) { return DNNL_VERSION_MAJOR >= 3 && has.amx && has.described; }

/// One more than the place of an operand's last element: `stride` by the batch loops, then rows and columns.
inline index span_of(contraction const& w, std::size_t operand, index rows, index row_stride, index columns,
                     index column_stride) {
  index last = (rows - 1) * row_stride + (columns - 1) * column_stride;
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.batch.ndim); ++d)
    last += (w.batch.extent[d] - 1) * w.batch.stride[operand][d];
  return last + 1;
}

template <class Exec>
class contractor {
 public:
  contractor() : contractor(!bfloat16_units::here().pay()) {}
  /// `widens`: products of bfloat16 are made in float, from operands that are converted before.
  explicit contractor(bool widens) : widens_(widens) { avoid_undescribed_amx(); }

  static constexpr bool adds_bias = true;
  template <class T>
  void contract(device<Exec>& on, contraction const& what, T const* a, T const* b, T* c, bool accumulate,
                T const* bias = nullptr) {
    if (what.batch.size() * what.m * what.n == 0) return;
    if (has_few_rows(what)) return contract_rows(on, what, a, b, c, accumulate, bias);
    if (is_misread(what)) return contract_with_loops(on.exec, what, a, b, c, accumulate, bias);
    if constexpr (std::is_same_v<T, bfloat16>) {
      if (widens_ && what.k > 0) return contract_widened(on, what, a, b, c, accumulate, bias);
      if (reads_behind_rows_ && what.k % 2 != 0 && (what.a_k == 1 || what.k == 1))
        return contract_transposed(on, what, a, b, c, accumulate, bias);
    }
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, bfloat16>) {
      [[maybe_unused]] onednn_threads const team(on.exec.concurrency());
      if constexpr (std::is_same_v<T, float>) {
        if (bias == nullptr && has_aliased_rows(what)) return sgemm_with_aliased_rows(on, what, a, b, c, accumulate);
        if (sgemm_is_faster(what) && (bias == nullptr || what.k >= 1024)) {  // sgemm adds no bias: c begins as it
          if (bias != nullptr) fill_rows(on, what, c, bias);
          on.exec.fence();
          return sgemm(what, a, b, c, accumulate || bias != nullptr);
        }
      }
      product& p = find(key{what, std::is_same_v<T, float>, accumulate, bias != nullptr});
      if (p.primitive) return run(on, p, a, b, c, bias);
    }
    contract_with_loops(on.exec, what, a, b, c, accumulate, bias);
  }

 private:
  /// Operands keep their strides. The result is rounded once, sums with what was there before included.
  void contract_widened(device<Exec>& on, contraction const& w, bfloat16 const* a, bfloat16 const* b, bfloat16* c,
                        bool accumulate, bfloat16 const* bias) {
    index const n_c = span_of(w, 2, w.m, w.c_m, w.n, w.c_n), n_a = span_of(w, 0, w.m, w.a_m, w.k, w.a_k),
                n_b = span_of(w, 1, w.k, w.b_k, w.n, w.b_n), n_bias = bias != nullptr ? w.n : 0;
    workspace<float, Exec> wide(on, n_a + n_b + n_c + n_bias);
    float *const wide_a = wide.get(), *const wide_b = wide_a + n_a, *const wide_c = wide_b + n_b,
                 *const wide_bias = bias != nullptr ? wide_c + n_c : nullptr;
    auto const line = [](index n) { return loops<2>{.ndim = 1, .extent = {n}, .stride = {extents{1}, extents{1}}}; };
    loops<2> result{
        .ndim = w.batch.ndim + 2, .extent = w.batch.extent, .stride = {w.batch.stride[2], w.batch.stride[2]}};
    auto const rows = static_cast<std::size_t>(w.batch.ndim), columns = rows + 1;
    result.extent[rows] = w.m;
    result.extent[columns] = w.n;
    for (auto& stride : result.stride) stride[rows] = w.c_m, stride[columns] = w.c_n;
    copy(on, line(n_a), wide_a, a);
    copy(on, line(n_b), wide_b, b);
    if (bias != nullptr) copy(on, line(n_bias), wide_bias, bias);
    if (accumulate) copy(on, result, wide_c, static_cast<bfloat16 const*>(c));
    contract<float>(on, w, wide_a, wide_b, wide_c, accumulate, wide_bias);
    copy(on, result, c, static_cast<float const*>(wide_c));
  }

  /// From a transposed copy of a.
  void contract_transposed(device<Exec>& on, contraction const& w, bfloat16 const* a, bfloat16 const* b, bfloat16* c,
                           bool accumulate, bfloat16 const* bias) {
    contraction transposed = w;
    transposed.a_m = 1, transposed.a_k = std::max<index>(w.m, 2);  // one row is plain, if nothing lies between columns
    loops<2> all{.ndim = w.batch.ndim + 2, .extent = w.batch.extent, .stride = {w.batch.stride[0], w.batch.stride[0]}};
    auto const row = static_cast<std::size_t>(w.batch.ndim), column = row + 1;
    index n = w.k * transposed.a_k;
    for (std::size_t d = row; d-- > 0;) {
      bool const moves = w.batch.stride[0][d] != 0;
      transposed.batch.stride[0][d] = all.stride[0][d] = moves ? n : 0;
      if (moves)
        n *= w.batch.extent[d];
      else
        all.extent[d] = 1;
    }
    all.extent[row] = w.m, all.extent[column] = w.k;
    all.stride[0][row] = transposed.a_m, all.stride[0][column] = transposed.a_k;
    all.stride[1][row] = w.a_m, all.stride[1][column] = w.a_k;
    workspace<bfloat16, Exec> copied(on, n);
    copy(on, all, copied.get(), a);
    product& p = find(key{transposed, false, accumulate, bias != nullptr});
    if (p.primitive) return run(on, p, static_cast<bfloat16 const*>(copied.get()), b, c, bias);
    contract_with_loops(on.exec, w, a, b, c, accumulate, bias);
  }

  struct key {
    contraction what;
    bool f32, accumulate, bias;
    bool operator==(key const&) const = default;
  };
  struct hash {
    std::size_t operator()(key const& k) const {
      std::size_t h = (k.f32 ? 1U : 0U) + (k.accumulate ? 2U : 0U) + (k.bias ? 4U : 0U);
      auto const mix = [&](index x) { h = (h ^ std::hash<index>{}(x)) * 0x9e3779b97f4a7c15ULL; };
      for (index x : {k.what.m, k.what.n, k.what.k, k.what.a_m, k.what.a_k, k.what.b_k, k.what.b_n, k.what.c_m}) mix(x);
      for (index x : k.what.batch.extent) mix(x);
      return h;
    }
  };
  struct product {
    std::optional<dnnl::matmul> primitive;  // empty: oneDNN has none for this processor
    dnnl::memory a, b, c, bias, scratch;
    std::size_t scratch_bytes = 0;
  };

  product& find(key const& k) {
    auto [at, made] = products_.try_emplace(k);
    if (made) make(k, at->second);
    return at->second;
  }

  void make(key const& k, product& p) {
    auto const type = k.f32 ? dnnl::memory::data_type::f32 : dnnl::memory::data_type::bf16;
    auto const& w = k.what;
    auto const a = matrix(w, 0, w.m, w.k, w.a_m, w.a_k, type);
    auto const b = matrix(w, 1, w.k, w.n, w.b_k, w.b_n, type);
    auto const c = matrix(w, 2, w.m, w.n, w.c_m, w.c_n, type);
    dnnl::memory::desc bias;
    if (k.bias) bias = {{1, w.n}, type, dnnl::memory::dims{w.n, 1}};
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (k.accumulate) {
      dnnl::post_ops add;
      add.append_sum(1.0F);
      attributes.set_post_ops(add);
    }
    try {
#if DNNL_VERSION_MAJOR >= 3
      dnnl::matmul::primitive_desc const description(engine_, a, b, bias, c, attributes);
#else
      dnnl::matmul::primitive_desc const description(dnnl::matmul::desc(a, b, bias, c), attributes, engine_);
#endif
      p.primitive.emplace(description);
      p.scratch_bytes = description.scratchpad_desc().get_size();
      p.scratch = dnnl::memory(description.scratchpad_desc(), engine_, nullptr);
    } catch (dnnl::error const& e) {
      if (e.status != dnnl_unimplemented) throw;
      return;
    }
    p.a = dnnl::memory(a, engine_, nullptr);
    p.b = dnnl::memory(b, engine_, nullptr);
    p.c = dnnl::memory(c, engine_, nullptr);
    if (k.bias) p.bias = dnnl::memory(bias, engine_, nullptr);
  }

  /// One operand: the batch loops, then rows and columns. A batch loop along which it is broadcast has extent 1.
  static dnnl::memory::desc matrix(contraction const& w, std::size_t operand, index rows, index columns,
                                   index row_stride, index column_stride, dnnl::memory::data_type type) {
    dnnl::memory::dims extent, stride;
    for (std::size_t d = 0; d < static_cast<std::size_t>(w.batch.ndim); ++d) {
      if (w.batch.extent[d] == 1) continue;
      index const s = w.batch.stride[operand][d];
      extent.push_back(s == 0 ? 1 : w.batch.extent[d]);
      stride.push_back(s);
    }
    // The stride of a unit loop means nothing; but if it is not that of a plain matrix, oneDNN takes its slow path.
    if (columns == 1 && row_stride != 1) column_stride = 1;
    if (columns == 1 && row_stride == 1) column_stride = rows;
    if (rows == 1) row_stride = column_stride == 1 ? columns : 1;
    for (std::size_t d = 0; d < stride.size(); ++d)
      if (extent[d] == 1) stride[d] = std::max(rows * row_stride, columns * column_stride);
    extent.insert(extent.end(), {rows, columns});
    stride.insert(stride.end(), {row_stride, column_stride});
    return {extent, type, stride};
  }

  template <class T>
  void run(device<Exec>& on, product& p, T const* a, T const* b, T* c, T const* bias) {
    on.exec.fence();
    workspace<std::byte, Exec> scratch(on, static_cast<index>(p.scratch_bytes));
    p.a.set_data_handle(const_cast<T*>(a));  // oneDNN has no handles to constant memory
    p.b.set_data_handle(const_cast<T*>(b));
    p.c.set_data_handle(c);
    p.scratch.set_data_handle(scratch.get());
    std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, p.a}, {DNNL_ARG_WEIGHTS, p.b}, {DNNL_ARG_DST, p.c}, {DNNL_ARG_SCRATCHPAD, p.scratch}};
    if (bias != nullptr) {
      p.bias.set_data_handle(const_cast<T*>(bias));
      arguments.emplace(DNNL_ARG_BIAS, p.bias);
    }
    p.primitive->execute(stream_, arguments);
    stream_.wait();
  }

  bool widens_, reads_behind_rows_ = reads_behind_rows(bfloat16_units::here());
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::unordered_map<key, product, hash> products_;
};

}  // namespace mtf::kokkos
