#pragma once
// Data between device and host: plain transfers, and pinned host memory for collectives where MPI cannot reach the
// device's memory itself.
#include <cstddef>

#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

#if defined(MTF_DEVICE_AWARE_MPI)
inline constexpr bool device_aware_by_default = true;
#else
inline constexpr bool device_aware_by_default = false;
#endif

/// From device memory to device memory. Of bytes, whatever the elements are: one copy for a program to compile.
template <class Exec>
void copy_bytes(Exec const& exec, void* to, void const* from, std::size_t bytes) {
  using source = Kokkos::View<std::byte const*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  using target = Kokkos::View<std::byte*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, target(static_cast<std::byte*>(to), bytes),
                    source(static_cast<std::byte const*>(from), bytes));
}

template <class Exec>
void to_host(Exec const& exec, void* host, void const* from, std::size_t bytes) {
  using there = Kokkos::View<std::byte const*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  using here = Kokkos::View<std::byte*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, here(static_cast<std::byte*>(host), bytes),
                    there(static_cast<std::byte const*>(from), bytes));
  exec.fence("mtf::to_host");
}

template <class Exec>
void from_host(Exec const& exec, void* to, void const* host, std::size_t bytes) {
  using there = Kokkos::View<std::byte*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  using here = Kokkos::View<std::byte const*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, there(static_cast<std::byte*>(to), bytes), here(static_cast<std::byte const*>(host), bytes));
  exec.fence("mtf::from_host");
}

/// Memory for staged collectives; kept, since pinning is slow.
template <class Exec>
struct staging_memory {
#if defined(KOKKOS_HAS_SHARED_HOST_PINNED_SPACE)
  using space = Kokkos::SharedHostPinnedSpace;
#else
  using space = Kokkos::HostSpace;
#endif
  memory_pool<space> memory;
};

/// Calls collective(in, out) on host copies of `in` and `out`. The device must be idle.
template <class Exec, class T, class Collective>
void staged(Exec const& exec, staging_memory<Exec>& staging, T const* in, std::size_t in_count, T* out,
            std::size_t out_count, Collective const& collective) {
  std::size_t const in_bytes = in_count * sizeof(T), out_bytes = out_count * sizeof(T);
  auto* const host_in = static_cast<T*>(staging.memory.allocate(in_bytes));
  auto* const host_out = static_cast<T*>(staging.memory.allocate(out_bytes));
  to_host(exec, host_in, in, in_bytes);
  collective(host_in, host_out);
  from_host(exec, out, host_out, out_bytes);
  staging.memory.release(host_in, in_bytes);
  staging.memory.release(host_out, out_bytes);
}

}  // namespace mtf::kokkos
