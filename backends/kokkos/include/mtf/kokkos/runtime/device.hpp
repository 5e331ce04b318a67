#pragma once
// What every kernel launcher gets, the execution space instance and its memory; and what differs between kernels for
// the host and for devices.
#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/kokkos/runtime/pool.hpp>
#include <mtf/math/fast_math.hpp>
#include <mtf/math/order.hpp>

// Asserts that the iterations of the next loop are independent.
#define MTF_PRAGMA(text) _Pragma(#text)
#if defined(_OPENMP) || defined(MTF_OPENMP_SIMD)
#define MTF_SIMD MTF_PRAGMA(omp simd)
#else
#define MTF_SIMD
#endif

namespace mtf::kokkos {

using namespace backend;  // NOLINT: the words of the contract
using namespace math;     // NOLINT

// Where there are devices, or kernels that are meant for them: what is for these alone is compiled.
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(MTF_DEVICE_KERNELS)
#define MTF_HAS_DEVICES 1  ///< 1 or 0
#else
#define MTF_HAS_DEVICES 0  ///< 1 or 0
#endif

/// True where the host may read device pointers.
template <class Exec>
inline constexpr bool host_accessible =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Exec::memory_space>::accessible;

/// True where a kernel's inner loops are SIMD loops of one thread; elsewhere they are the loops of a team.
/// MTF_DEVICE_KERNELS runs the kernels that are meant for devices on the host, to test them there.
#ifdef MTF_DEVICE_KERNELS
template <class Exec>
inline constexpr bool runs_on_host = false;
#else
template <class Exec>
inline constexpr bool runs_on_host = host_accessible<Exec>;
#endif

template <class Exec>
struct device {
  Exec exec;
  memory_pool<typename Exec::memory_space> memory{};
};

/// Memory for the length of one launcher's call: later work in the same stream may reuse it.
template <class T, class Exec>
class workspace {
 public:
  workspace(device<Exec>& on, index count)
      : on_(&on),
        bytes_(static_cast<std::size_t>(count) * sizeof(T)),
        data_(count > 0 ? static_cast<T*>(on.memory.allocate(bytes_)) : nullptr) {}
  workspace(workspace const&) = delete;
  workspace& operator=(workspace const&) = delete;
  ~workspace() { on_->memory.release(data_, bytes_); }

  [[nodiscard]] T* get() const { return data_; }

 private:
  device<Exec>* on_;
  std::size_t bytes_;
  T* data_;
};

template <class Exec>
using range_policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<index>>;

constexpr index ceil_div(index a, index b) { return (a + b - 1) / b; }

/// Elements that one host thread does at a time: enough to hide the cost of handing out work.
inline constexpr index host_grain = 8192;

/// kernel(i) for each of `items`, which have about `elements` elements together. If these are few, the calling thread
/// computes them, which takes a tenth of a launch's time; unless a profiler listens, which should see every launch.
template <class Exec, class Kernel>
void launch_on_host(char const* label, Exec const& exec, index items, index elements, Kernel const& kernel) {
  if (elements <= host_grain && !Kokkos::Tools::profileLibraryLoaded())
    for (index i = 0; i < items; ++i) kernel(i);
  else
    Kokkos::parallel_for(label, range_policy<Exec>(exec, 0, items), kernel);
}

/// Conversion between element types; bfloat16 goes through float.
template <class To, class From>
KOKKOS_FORCEINLINE_FUNCTION constexpr To convert(From x) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else if constexpr (std::is_same_v<To, bool>)
    return static_cast<compute_t<From>>(x) != compute_t<From>(0);
  else if constexpr (std::is_same_v<To, bfloat16>)
    return bfloat16(static_cast<float>(static_cast<compute_t<From>>(x)));
  else
    return static_cast<To>(static_cast<compute_t<From>>(x));
}

/// An element as its compute type.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION constexpr compute_t<T> load(T x) {
  return static_cast<compute_t<T>>(x);
}

}  // namespace mtf::kokkos
