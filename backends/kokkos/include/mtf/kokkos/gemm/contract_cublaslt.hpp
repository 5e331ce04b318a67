#pragma once
// Matrix products on CUDA: cuBLASLt. The only file that knows it. Algorithms are chosen once for each shape; float is
// computed in float (no TF32).
#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>

#include <mtf/kokkos/gemm/contract_columns.hpp>
#include <mtf/kokkos/gemm/whole_rows.hpp>

namespace mtf::kokkos {

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

template <class Exec>
class contractor {
 public:
  static constexpr bool adds_bias = true;
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
  void contract(device<Exec>& on, contraction const& what, T const* a, T const* b, T* c, bool accumulate,
                T const* bias = nullptr) {
    if (what.batch.size() * what.m * what.n == 0) return;
    if (bias != nullptr && (sizeof(T) > 4 || alignment_of(bias) < whole_row)) {  // cuBLASLt adds none in double
      fill_rows(on, what, c, bias);
      return contract(on, what, a, b, c, true);
    }
    if constexpr (std::is_same_v<T, bfloat16>)
      if (is_large(what) && copied_operands(what, a, b, c).any()) {
        auto const by = [&](auto const&... part) { multiply(on, part...); };
        if (all_rows_begin_whole(what, a, b, c)) return multiply_with_rests(what, a, b, c, accumulate, bias, by);
        return multiply_in_parts(on, what, a, b, c, accumulate, bias, by);
      }
    multiply(on, what, a, b, c, accumulate, bias);
  }

 private:
  template <class T>
  void multiply(device<Exec>& on, contraction const& what, T const* a, T const* b, T* c, bool accumulate,
                T const* bias) {
    batch_split const batch(what.batch);
    key k{what,
          batch.count,
          {batch.stride[0], batch.stride[1], batch.stride[2]},
          cublas_types<T>::data,
          alignment(what, a, b, c, sizeof(T)),
          bias != nullptr};
    k.what.batch = {};  // the product is the same for all loops that are launched one by one
    product const& p = find<T>(k);
    if (bias != nullptr)
      check_cublas(cublasLtMatmulDescSetAttribute(p.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
                   "bias");

    using scalar = compute_t<T>;
    scalar const alpha = 1, beta = accumulate ? 1 : 0;
    workspace<std::byte, Exec> memory(on, static_cast<index>(p.scratch_bytes > 0 ? p.scratch_bytes + scratch_step : 0));
    void* const scratch = aligned(memory.get());
    for (index i = 0; i < batch.calls; ++i) {
      index at[3];
      batch.outer.locate(i, at);
      check_cublas(cublasLtMatmul(handle_, p.operation, &alpha, b + at[1], p.b, a + at[0], p.a, &beta, c + at[2], p.c,
                                  c + at[2], p.c, &p.algorithm, scratch, p.scratch_bytes, on.exec.cuda_stream()),
                   "cublasLtMatmul");
    }
  }

  struct key {
    contraction what;
    index batch;
    std::array<index, 3> stride;
    cudaDataType_t type;
    unsigned alignment;
    bool has_bias;
    bool operator==(key const&) const = default;
  };
  struct hash {
    std::size_t operator()(key const& k) const {
      std::size_t h = (static_cast<std::size_t>(k.type) * 64 + k.alignment) * 2 + (k.has_bias ? 1 : 0);
      index const parts[] = {k.what.m,   k.what.n,   k.what.k,   k.what.a_m, k.what.a_k,
                             k.what.b_k, k.what.b_n, k.what.c_m, k.batch};
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

  // cuBLASLt takes a workspace only if its address is a multiple of 256 (else CUBLAS_STATUS_INVALID_VALUE); Kokkos'
  // blocks begin 128 bytes behind cudaMalloc's.
  static constexpr std::uintptr_t scratch_step = 256;
  static void* aligned(std::byte* p) {
    auto const address = reinterpret_cast<std::uintptr_t>(p);
    return p + ((address + scratch_step - 1) / scratch_step * scratch_step - address);
  }

  /// The alignment in bytes, at most 16, that all matrices of all operands have.
  static unsigned alignment(contraction const& w, void const* a, void const* b, void const* c, std::size_t size) {
    auto bits =
        reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) | reinterpret_cast<std::uintptr_t>(c);
    for (std::size_t d = 0; d < static_cast<std::size_t>(w.batch.ndim); ++d)
      for (std::size_t o = 0; o < 3; ++o) bits |= static_cast<std::uintptr_t>(w.batch.stride[o][d]) * size;
    return alignment_of(bits);
  }

  static cublasLtMatrixLayout_t layout(cudaDataType_t type, column_operand const& x, index batch, index batch_stride) {
    cublasLtMatrixLayout_t made{};
    check_cublas(cublasLtMatrixLayoutCreate(&made, type, static_cast<std::uint64_t>(x.rows),
                                            static_cast<std::uint64_t>(x.columns), x.leading),
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
    column_operand const first = first_operand(k.what), second = second_operand(k.what);
    cublasOperation_t const first_op = first.plain ? CUBLAS_OP_N : CUBLAS_OP_T;
    cublasOperation_t const second_op = second.plain ? CUBLAS_OP_N : CUBLAS_OP_T;
    product p;
    check_cublas(cublasLtMatmulDescCreate(&p.operation, types::compute, types::scale), "cublasLtMatmulDescCreate");
    auto const set = [&](cublasLtMatmulDescAttributes_t attribute, cublasOperation_t op) {
      check_cublas(cublasLtMatmulDescSetAttribute(p.operation, attribute, &op, sizeof op), "transposition");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, first_op);
    set(CUBLASLT_MATMUL_DESC_TRANSB, second_op);
    if (k.has_bias) {
      cublasLtEpilogue_t const adds = CUBLASLT_EPILOGUE_BIAS;  // along the rows of c^T
      check_cublas(cublasLtMatmulDescSetAttribute(p.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, &adds, sizeof adds),
                   "epilogue");
    }
    p.b = layout(types::data, first, k.batch, k.stride[1]);
    p.a = layout(types::data, second, k.batch, k.stride[0]);
    column_operand const result{true, k.what.n, k.what.m, std::max(k.what.n, k.what.c_m)};
    p.c = layout(types::data, result, k.batch, k.stride[2]);

    cublasLtMatmulPreference_t preference{};
    check_cublas(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    auto const prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value), "preference");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t(most_scratch));
    // Products that are split along k are added up in the type of computation: in bfloat16 a sum of 1000 terms was off
    // by 5%.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, std::uint32_t(k.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t(k.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, std::uint32_t(k.alignment));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t(k.alignment));
    cublasLtMatmulHeuristicResult_t chosen{};
    int found = 0;
    auto const status =
        cublasLtMatmulAlgoGetHeuristic(handle_, p.operation, p.b, p.a, p.c, p.c, preference, 1, &chosen, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check_cublas(found > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    p.algorithm = chosen.algo;
    p.scratch_bytes = chosen.workspaceSize;
    return products_.emplace(k, p).first->second;
  }

  cublasLtHandle_t handle_{};
  std::unordered_map<key, product, hash> products_;
};

}  // namespace mtf::kokkos
