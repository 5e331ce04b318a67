#pragma once
// Matrix products on CUDA: cuBLASLt. The only file that knows it. Algorithms are chosen once for each shape: the first
// that cuBLASLt proposes, or what a file says that an earlier run wrote. float is computed in float (no TF32).
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <mtf/kokkos/gemm/choices.hpp>
#include <mtf/kokkos/gemm/contract_columns.hpp>
#include <mtf/kokkos/gemm/whole_rows.hpp>
#include <mtf/kokkos/runtime/stream_events.hpp>

namespace mtf::kokkos {

inline void check_cublas(cublasStatus_t status, char const* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string("mtf: cuBLASLt failed in ") + what + ": " + cublasLtGetStatusString(status));
}

template <class T>
struct cublas_types;
template <>
struct cublas_types<float> {
  static constexpr char const* name = "float";
  static constexpr auto data = CUDA_R_32F, scale = CUDA_R_32F;
  static constexpr auto compute = CUBLAS_COMPUTE_32F;
};
template <>
struct cublas_types<double> {
  static constexpr char const* name = "double";
  static constexpr auto data = CUDA_R_64F, scale = CUDA_R_64F;
  static constexpr auto compute = CUBLAS_COMPUTE_64F;
};
template <>
struct cublas_types<bfloat16> {
  static constexpr char const* name = "bfloat16";
  static constexpr auto data = CUDA_R_16BF, scale = CUDA_R_32F;
  static constexpr auto compute = CUBLAS_COMPUTE_32F;
};

/// The environment variable that names the file of algorithms.
inline constexpr char const* choices_variable = "MTF_CUBLASLT_CHOICES";

/// An algorithm as it is launched.
struct cublas_algorithm {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t scratch_bytes = 0;
};

/// What an algorithm is made of besides its id, in the order of its numbers in a file.
struct cublas_attribute {
  cublasLtMatmulAlgoConfigAttributes_t name;
  std::size_t bytes;
};
inline constexpr std::array<cublas_attribute, 8> cublas_attributes{{{CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
                                                                    {CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
                                                                    {CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
                                                                    {CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
                                                                    {CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
                                                                    {CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
                                                                    {CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
                                                                    {CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2}}};
static_assert(cublas_attributes.size() + 1 == algorithm_numbers{}.size());
// A number's low bytes are the attribute.
static_assert(std::endian::native == std::endian::little);

/// The numbers that an algorithm is built from again, if cuBLASLt tells them.
inline std::optional<algorithm_numbers> numbers_of(cublasLtMatmulAlgo_t const& algorithm) {
  algorithm_numbers numbers{};
  auto const get = [&](cublas_attribute what, std::int64_t& to) {
    std::size_t written = 0;
    return cublasLtMatmulAlgoConfigGetAttribute(&algorithm, what.name, &to, what.bytes, &written) ==
               CUBLAS_STATUS_SUCCESS &&
           written == what.bytes;
  };
  if (!get({CUBLASLT_ALGO_CONFIG_ID, 4}, numbers[0])) return {};
  for (std::size_t i = 0; i < cublas_attributes.size(); ++i)
    if (!get(cublas_attributes[i], numbers[i + 1])) return {};
  return numbers;
}

/// Memory of a device, of cudaMalloc: its pool would keep it. None where there is too little.
class trial_memory {
 public:
  explicit trial_memory(std::size_t bytes) {
    if (cudaMalloc(&at_, bytes) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      at_ = nullptr;
    }
  }
  ~trial_memory() {
    if (at_ != nullptr) static_cast<void>(cudaFree(at_));
  }
  trial_memory(trial_memory const&) = delete;
  trial_memory& operator=(trial_memory const&) = delete;
  [[nodiscard]] std::byte* get() const { return static_cast<std::byte*>(at_); }

 private:
  void* at_ = nullptr;
};

/// Products of a rank. With MTF_CUBLASLT_CHOICES=FILE in the environment each shape takes the algorithm that the file
/// says. One that it does not say is computed by cuBLASLt's first proposal, as without the file; the first eight are
/// timed, and the fastest is written when the contractor ends, for later runs. So what a run computes depends on the
/// file as it was when the run began, and on no time.
template <class Exec>
class contractor {
 public:
  static constexpr bool adds_bias = true;
  contractor() {
    check_cublas(cublasLtCreate(&handle_), "cublasLtCreate");
    char const* const file = std::getenv(choices_variable);
    if (file != nullptr && *file != '\0') choices_.emplace(file, version_and_device());
  }
  ~contractor() {
    if (choices_ && !choices_->save())
      std::fprintf(stderr, "mtf: the file that %s names cannot be written\n", choices_variable);
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
    product& p = find<T>(k);
    if (bias != nullptr)
      check_cublas(cublasLtMatmulDescSetAttribute(p.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias),
                   "bias");

    if (choices_ && !p.is_settled) settle(on.exec, k, p, a, b, c, accumulate);
    auto const scratch_bytes = p.takes.scratch_bytes;
    workspace<std::byte, Exec> memory(on, static_cast<index>(scratch_bytes > 0 ? scratch_bytes + scratch_step : 0));
    void* const scratch = aligned(memory.get());
    for (index i = 0; i < batch.calls; ++i) {
      index at[3];
      batch.outer.locate(i, at);
      check_cublas(
          launch(on.exec.cuda_stream(), p, p.takes, a + at[0], b + at[1], c + at[2], accumulate, c + at[2], scratch),
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
    cublas_algorithm takes{};
    bool is_asked = false, is_settled = false;  // the file was asked; and, if need be, others were tried
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
  product& find(key const& k) {
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

    p.takes = proposed(k, p, 1).at(0);
    return products_.emplace(k, p).first->second;
  }

  /// What cuBLASLt proposes for a product, the best first by its estimate: one at least, so many at most.
  std::vector<cublas_algorithm> proposed(key const& k, product const& p, std::size_t most) {
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
    std::vector<cublasLtMatmulHeuristicResult_t> results(most);
    int found = 0;
    auto const status = cublasLtMatmulAlgoGetHeuristic(handle_, p.operation, p.b, p.a, p.c, p.c, preference,
                                                       static_cast<int>(most), results.data(), &found);
    cublasLtMatmulPreferenceDestroy(preference);
    check_cublas(found > 0 ? status : CUBLAS_STATUS_NOT_SUPPORTED, "cublasLtMatmulAlgoGetHeuristic");
    std::vector<cublas_algorithm> all;
    for (int i = 0; i < found; ++i) {
      auto const& r = results[static_cast<std::size_t>(i)];
      if (i == 0 || r.state == CUBLAS_STATUS_SUCCESS) all.push_back({r.algo, r.workspaceSize});
    }
    return all;
  }

  /// to = a b, or c + a b, of the product's first loop over `batch`.
  template <class T>
  cublasStatus_t launch(cudaStream_t stream, product const& p, cublas_algorithm const& by, T const* a, T const* b,
                        T const* c, bool accumulate, T* to, void* scratch) {
    compute_t<T> const alpha = 1, beta = accumulate ? 1 : 0;
    return cublasLtMatmul(handle_, p.operation, &alpha, b, p.b, a, p.a, &beta, c, p.c, to, p.c, &by.algorithm, scratch,
                          by.scratch_bytes, stream);
  }

  // --- algorithms of a file
  // -------------------------------------------------------------------------------------------

  static constexpr std::size_t tried = 8;         // as cuBLASLt proposes them
  static constexpr double least_tried = 1e8;      // flops of a launch: less takes as long as a launch
  static constexpr int rounds = 3, runs = 5;      // timed, of each
  static constexpr double worth_changing = 0.98;  // of the time: what one must beat that was proposed before

  static std::string version_and_device() {
    int device = 0;
    cudaDeviceProp of{};
    if (cudaGetDevice(&device) != cudaSuccess || cudaGetDeviceProperties(&of, device) != cudaSuccess)
      throw std::runtime_error("mtf: CUDA does not say which device this is");
    return "cuBLASLt " + std::to_string(cublasLtGetVersion()) + " on " + of.name + ", " +
           std::to_string(of.multiProcessorCount) + " multiprocessors";
  }

  /// All that the choice of an algorithm depends on, as a file has it.
  template <class T>
  static std::string name_of(key const& k) {
    std::string name = cublas_types<T>::name;
    auto const add = [&](char const* what, auto const&... numbers) {
      name.append(" ").append(what);
      ((name.append(" ").append(std::to_string(numbers))), ...);
    };
    add("m n k", k.what.m, k.what.n, k.what.k);
    add("a", k.what.a_m, k.what.a_k);
    add("b", k.what.b_k, k.what.b_n);
    add("c", k.what.c_m, k.what.c_n);
    add("batch", k.batch, k.stride[0], k.stride[1], k.stride[2]);
    add("aligned", k.alignment);
    if (k.has_bias) add("bias");
    return name;
  }

  /// The algorithm of these numbers for a product, if cuBLASLt has it, and adds up in the type of computation.
  template <class T>
  std::optional<cublas_algorithm> built(product const& p, algorithm_numbers const& numbers) {
    using types = cublas_types<T>;
    cublasLtMatmulAlgo_t algorithm{};
    if (numbers[0] > std::numeric_limits<int>::max() ||
        cublasLtMatmulAlgoInit(handle_, types::compute, types::scale, types::data, types::data, types::data,
                               types::data, static_cast<int>(numbers[0]), &algorithm) != CUBLAS_STATUS_SUCCESS)
      return {};
    for (std::size_t i = 0; i < cublas_attributes.size(); ++i) {
      auto const [name, bytes] = cublas_attributes[i];
      std::int64_t const value = numbers[i + 1];
      if (value >> (8 * bytes) != 0) return {};
      if (name == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME && (value & ~CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0)
        return {};
      if (cublasLtMatmulAlgoConfigSetAttribute(&algorithm, name, &value, bytes) != CUBLAS_STATUS_SUCCESS) return {};
    }
    cublasLtMatmulHeuristicResult_t result{};
    if (cublasLtMatmulAlgoCheck(handle_, p.operation, p.b, p.a, p.c, p.c, &algorithm, &result) !=
            CUBLAS_STATUS_SUCCESS ||
        result.workspaceSize > most_scratch)
      return {};
    return cublas_algorithm{algorithm, result.workspaceSize};
  }

  /// Gives a product the algorithm of the file, or else tries some for later runs: not while a graph is captured, where
  /// nothing can be timed.
  template <class T>
  void settle(Exec const& exec, key const& k, product& p, T const* a, T const* b, T const* c, bool accumulate) {
    if (!std::exchange(p.is_asked, true))
      if (auto const* const numbers = choices_->find(name_of<T>(k)))
        if (auto const algorithm = built<T>(p, *numbers)) {
          p.takes = *algorithm;
          p.is_settled = true;
          return;
        }
    cudaStreamCaptureStatus capture{};
    if (cudaStreamIsCapturing(exec.cuda_stream(), &capture) != cudaSuccess || capture != cudaStreamCaptureStatusNone) {
      static_cast<void>(cudaGetLastError());
      return;
    }
    p.is_settled = true;
    if (k.what.flops() * static_cast<double>(k.batch) < least_tried) return;
    if (auto const best = fastest(exec, k, p, a, b, c, accumulate)) choices_->add(name_of<T>(k), *best);
  }

  /// The fastest of the algorithms that cuBLASLt proposes, by these operands; the result goes to memory of its own.
  /// None where there is no memory for it.
  template <class T>
  std::optional<algorithm_numbers> fastest(Exec const& exec, key const& k, product const& p, T const* a, T const* b,
                                           T const* c, bool accumulate) {
    std::size_t const elements = static_cast<std::size_t>((k.batch - 1) * k.stride[2] +
                                                          (k.what.m - 1) * std::max(k.what.n, k.what.c_m) + k.what.n);
    std::size_t const result_bytes = (elements * sizeof(T) / scratch_step + 1) * scratch_step;
    trial_memory const memory(result_bytes + most_scratch);
    if (memory.get() == nullptr) return {};
    T* const to = reinterpret_cast<T*>(memory.get());
    std::optional<algorithm_numbers> best;
    double least = std::numeric_limits<double>::max();
    for (auto const& proposal : proposed(k, p, tried)) {
      auto const numbers = numbers_of(proposal.algorithm);
      if (!numbers) continue;
      auto const algorithm = built<T>(p, *numbers);  // as a later run has it
      if (!algorithm) continue;
      auto const run = [&] {
        return launch(exec.cuda_stream(), p, *algorithm, a, b, c, accumulate, to, memory.get() + result_bytes) ==
               CUBLAS_STATUS_SUCCESS;
      };
      if (!run()) continue;  // not timed: its code may be loaded then
      double seconds = std::numeric_limits<double>::max();
      bool ran = true;
      for (int round = 0; ran && round < rounds; ++round) {
        stream_event<Exec> const begin(exec);
        for (int i = 0; ran && i < runs; ++i) ran = run();
        stream_event<Exec> const end(exec);
        if (cudaStreamSynchronize(exec.cuda_stream()) != cudaSuccess)
          throw std::runtime_error("mtf: a product failed while algorithms were tried");
        seconds = std::min(seconds, begin.seconds_until(end));
      }
      if (!ran || seconds >= least * worth_changing) continue;
      least = seconds;
      best = numbers;
    }
    return best;
  }

  cublasLtHandle_t handle_{};
  std::unordered_map<key, product, hash> products_;
  std::optional<choices_file> choices_;
};

}  // namespace mtf::kokkos
