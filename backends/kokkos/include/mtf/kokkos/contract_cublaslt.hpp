#pragma once
// Matrix products on CUDA: cuBLASLt. The only file that knows it. Algorithms are chosen once for each shape; float is
// computed in float (no TF32).
#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include <mtf/kokkos/nest.hpp>

namespace mtf::detail {

inline void check_cublas(cublasStatus_t status, char const* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("mtf: cuBLASLt failed in ") + what + ": " + cublasLtGetStatusString(status));
}

template <class T>
struct cublas_types;
template <>
struct cublas_types<float> {
  static constexpr auto data = CUDA_R_32F, scale = CUDA_R_32F;
  static constexpr auto compute = CUBLAS_COMPUTE_32F;
};
template <>
struct cublas_types<double> {
  static constexpr auto data = CUDA_R_64F, scale = CUDA_R_64F;
  static constexpr auto compute = CUBLAS_COMPUTE_64F;
};
template <>
struct cublas_types<bfloat16> {
  static constexpr auto data = CUDA_R_16BF, scale = CUDA_R_32F;
  static constexpr auto compute = CUBLAS_COMPUTE_32F;
};

/// cuBLASLt matrices are column-major, so the product is computed as c^T = b^T a^T: its "A" is our b.
template <class Exec>
class contractor {
 public:
  contractor() { check_cublas(cublasLtCreate(&handle_), "cublasLtCreate"); }
  ~contractor() {
    for (auto& [k, p] : products_) {
      cublasLtMatrixLayoutDestroy(p.a);
      cublasLtMatrixLayoutDestroy(p.b);
      cublasLtMatrixLayoutDestroy(p.c);
      cublasLtMatmulDescDestroy(p.operation);
    }
    cublasLtDestroy(handle_);
  }
  contractor(contractor const&) = delete;
  contractor& operator=(contractor const&) = delete;

  template <class T>
  void contract(device<Exec>& on, contraction const& what, T const* a, T const* b, T* c, bool accumulate) {
    if (what.batch.size() * what.m * what.n == 0) return;
    int const inner = strided_batch(what.batch);
    key k{what, cublas_types<T>::data, aligned(what, a, b, c, sizeof(T))};
    k.what.batch.rank = 1;  // what is left of the batch is one strided loop
    for (std::size_t d = 0; d < max_rank; ++d)
      for (std::size_t o = 0; o < 3; ++o) k.what.batch.stride[o][d] = 0;
    k.what.batch.extent = {1};
    if (inner >= 0) {
      k.what.batch.extent[0] = what.batch.extent[static_cast<std::size_t>(inner)];
      for (std::size_t o = 0; o < 3; ++o)
        k.what.batch.stride[o][0] = what.batch.stride[o][static_cast<std::size_t>(inner)];
    }
    product const& p = find<T>(k);

    loops<3> outer = what.batch;
    if (inner >= 0) outer.extent[static_cast<std::size_t>(inner)] = 1;
    nest<3> const rest = nest_of(outer);
    using scalar = compute_t<T>;
    scalar const alpha = 1, beta = accumulate ? 1 : 0;
    workspace<std::byte, Exec> scratch(on, static_cast<index>(p.scratch_bytes));
    for (index i = 0; i < outer.size(); ++i) {
      index at[3];
      rest.locate(i, at);
      check_cublas(cublasLtMatmul(handle_, p.operation, &alpha, b + at[1], p.b, a + at[0], p.a, &beta, c + at[2], p.c,
                                  c + at[2], p.c, &p.algorithm, scratch.get(), p.scratch_bytes, on.exec.cuda_stream()),
                   "cublasLtMatmul");
    }
  }

 private:
  struct key {
    contraction what;
    cudaDataType_t type;
    unsigned alignment;
    bool operator==(key const&) const = default;
  };
  struct hash {
    std::size_t operator()(key const& k) const {
      std::size_t h = static_cast<std::size_t>(k.type) * 64 + k.alignment;
      index const parts[] = {k.what.m,   k.what.n,   k.what.k,   k.what.a_m,           k.what.a_k,
                             k.what.b_k, k.what.b_n, k.what.c_m, k.what.batch.extent[0]};
      for (index x : parts) h = (h ^ std::hash<index>{}(x)) * 0x9e3779b97f4a7c15ULL;
      return h;
    }
  };
  struct product {
    cublasLtMatmulDesc_t operation{};
    cublasLtMatrixLayout_t a{}, b{}, c{};
    cublasLtMatmulAlgo_t algorithm{};
    std::size_t scratch_bytes = 0;
  };
  static constexpr std::size_t most_scratch = std::size_t(32) << 20U;

  /// The longest batch loop: cuBLASLt takes one, the others are launched one by one.
  static int strided_batch(loops<3> const& batch) {
    int best = -1;
    for (int d = 0; d < batch.rank; ++d) {
      auto const e = batch.extent[static_cast<std::size_t>(d)];
      if (e > 1 && (best < 0 || e > batch.extent[static_cast<std::size_t>(best)])) best = d;
    }
    return best;
  }

  /// The alignment in bytes, at most 16, that all matrices of all operands have.
  static unsigned aligned(contraction const& w, void const* a, void const* b, void const* c, std::size_t size) {
    auto bits = reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
                reinterpret_cast<std::uintptr_t>(c) | 16U;
    for (std::size_t d = 0; d < static_cast<std::size_t>(w.batch.rank); ++d)
      for (std::size_t o = 0; o < 3; ++o) bits |= static_cast<std::uintptr_t>(w.batch.stride[o][d]) * size;
    return static_cast<unsigned>(bits & (~bits + 1));
  }

  static cublasLtMatrixLayout_t layout(cudaDataType_t type, index rows, index columns, index leading, index batch,
                                       index batch_stride) {
    cublasLtMatrixLayout_t made{};
    check_cublas(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(rows),
                                            static_cast<std::uint64_t>(columns), std::max(leading, rows)),
                 "cublasLtMatrixLayoutCreate");
    auto const count = static_cast<std::int32_t>(batch);
    auto const stride = static_cast<std::int64_t>(batch_stride);
    check_cublas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                 "batch count");
    check_cublas(
        cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
        "batch stride");
    return made;
  }

  template <class T>
  product const& find(key const& k) {
    auto const known = products_.find(k);
    if (known != products_.end()) return known->second;
    using types = cublas_types<T>;
    auto const& w = k.what;
    index const batch = w.batch.extent[0];
    product p;
    check_cublas(cublasLtMatmulDescCreate(&p.operation, types::compute, types::scale), "cublasLtMatmulDescCreate");
    // b^T is n x k and a^T is k x m, stored as such where b_n and a_k are 1 (the stride of a unit loop means nothing).
    bool const b_plain = (w.n == 1 && w.b_k != 1) || (w.n > 1 && w.b_n == 1);
    bool const a_plain = (w.k == 1 && w.a_m != 1) || (w.k > 1 && w.a_k == 1);
    cublasOperation_t const op_b = b_plain ? CUBLAS_OP_N : CUBLAS_OP_T, op_a = a_plain ? CUBLAS_OP_N : CUBLAS_OP_T;
    check_cublas(cublasLtMatmulDescSetAttribute(p.operation, CUBLASLT_MATMUL_DESC_TRANSA, &op_b, sizeof op_b), "op");
    check_cublas(cublasLtMatmulDescSetAttribute(p.operation, CUBLASLT_MATMUL_DESC_TRANSB, &op_a, sizeof op_a), "op");
    p.b = b_plain ? layout(types::data, w.n, w.k, w.b_k, batch, w.batch.stride[1][0])
                  : layout(types::data, w.k, w.n, w.b_n, batch, w.batch.stride[1][0]);
    p.a = a_plain ? layout(types::data, w.k, w.m, w.a_m, batch, w.batch.stride[0][0])
                  : layout(types::data, w.m, w.k, w.a_k, batch, w.batch.stride[0][0]);
    p.c = layout(types::data, w.n, w.m, w.c_m, batch, w.batch.stride[2][0]);

    cublasLtMatmulPreference_t preference{};
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    auto const prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), "preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t(most_scratch));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t(k.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t(k.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t(k.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t(k.alignment));
    cublasLtMatmulHeuristicResult_t chosen{};
    int found = 0;
    auto const status = cublasLtMatmulAlgoGetHeuristic(handle_, p.operation, p.b, p.a, p.c, p.c, preference, 1, &chosen,
                                                       &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check_cublas(found > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    p.algorithm = chosen.algo;
    p.scratch_bytes = chosen.workspaceSize;
    return products_.emplace(k, p).first->second;
  }

  cublasLtHandle_t handle_{};
  std::unordered_map<key, product, hash> products_;
};

}  // namespace mtf::detail
