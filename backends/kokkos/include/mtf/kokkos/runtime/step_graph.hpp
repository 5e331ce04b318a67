#pragma once
// A training step as CUDA graphs. The only file that knows CUDA's.
#include <cstddef>

#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_CUDA)
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <mtf/kokkos/runtime/graph_segments.hpp>
#endif

namespace mtf::kokkos {

/// Whether a step's work on an execution space can be graphs.
template <class Exec>
inline constexpr bool has_graphs = false;
/// Where it cannot.
template <class Exec>
struct step_graph {
  step_graph(Exec const&, bool) {}
  struct none {
    std::size_t launched = 0, instantiated = 0, updated = 0;
  };
  [[nodiscard]] none counts() const { return {}; }
};

#if defined(KOKKOS_ENABLE_CUDA)
template <>
inline constexpr bool has_graphs<Kokkos::Cuda> = true;

/// Records a CUDA stream. In the mode in which the thread may allocate meanwhile: the pool does, and Kokkos with each
/// team policy (of 0 bytes: CudaInternal::resize_team_scratch_space).
class cuda_recorder {
 public:
  /// Destroyed by `Destroy`. (CUDA keeps an executable until its launches are over.)
  template <class Handle, cudaError_t (*Destroy)(Handle)>
  class owned {
   public:
    explicit owned(Handle handle) : handle_(handle) {}
    owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owned& operator=(owned&& other) noexcept {
      std::swap(handle_, other.handle_);
      return *this;
    }
    ~owned() {
      if (handle_ != nullptr) static_cast<void>(Destroy(handle_));
    }
    [[nodiscard]] Handle get() const { return handle_; }

   private:
    Handle handle_;
  };
  using graph = owned<cudaGraph_t, cudaGraphDestroy>;
  using executable = owned<cudaGraphExec_t, cudaGraphExecDestroy>;

  cuda_recorder(cudaStream_t stream, bool speaks) : stream_(stream), speaks_(speaks) {}

  void begin() { check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture"); }
  graph end() {
    cudaGraph_t made = nullptr;
    check_kept(cudaStreamEndCapture(stream_, &made), "cudaStreamEndCapture");
    return graph(made);
  }
  [[nodiscard]] static bool empty(graph const& of) {
    std::size_t nodes = 0;
    check_kept(cudaGraphGetNodes(of.get(), nullptr, &nodes), "cudaGraphGetNodes");
    return nodes == 0;
  }
  static executable instantiate(graph const& of) {
    cudaGraphExec_t made = nullptr;
    check_kept(cudaGraphInstantiate(&made, of.get(), 0), "cudaGraphInstantiate");
    return executable(made);
  }
  static bool update(executable const& what, graph const& to) {
    cudaGraphExecUpdateResultInfo why{};
    if (cudaGraphExecUpdate(what.get(), to.get(), &why) == cudaSuccess) return true;
    static_cast<void>(cudaGetLastError());
    return false;
  }
  void launch(executable const& what) { check_kept(cudaGraphLaunch(what.get(), stream_), "cudaGraphLaunch"); }
  void cannot_begin(std::exception const& e) const noexcept {
    if (speaks_) std::fprintf(stderr, "mtf: %s: from here on steps are launched without CUDA graphs\n", e.what());
  }

 private:
  static void check(cudaError_t e, char const* what) {
    if (e == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
  }
  static void check_kept(cudaError_t e, char const* what) {
    try {
      check(e, what);
    } catch (std::exception const& failed) {
      throw std::runtime_error(std::string("mtf: ") + failed.what() +
                               ": a part of the step is lost, which was recorded as a CUDA graph; run without graphs");
    }
  }

  cudaStream_t stream_;
  bool speaks_;
};

template <>
struct step_graph<Kokkos::Cuda> : graph_segments<cuda_recorder> {
  /// `speaks`: this rank says what went wrong.
  step_graph(Kokkos::Cuda const& exec, bool speaks) : graph_segments(cuda_recorder(exec.cuda_stream(), speaks)) {}
};
#endif

}  // namespace mtf::kokkos
