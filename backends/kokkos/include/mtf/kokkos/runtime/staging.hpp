#pragma once
// Data between device and host: plain transfers, and pinned host memory for collectives where MPI cannot reach the
// device's memory itself.
#include <cstddef>

#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// From device memory to device memory. Of bytes, whatever the elements are: one copy for a program to compile.
template <class Exec>
void copy_bytes(Exec const& exec, void* to, void const* from, std::size_t bytes) {
  using source = Kokkos::View<std::byte const*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  using target = Kokkos::View<std::byte*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, target(static_cast<std::byte*>(to), bytes),
                    source(static_cast<std::byte const*>(from), bytes));
}

template <class Exec>
void zero_bytes(Exec const& exec, void* to, std::size_t bytes) {
  using target = Kokkos::View<std::byte*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
  Kokkos::deep_copy(exec, target(static_cast<std::byte*>(to), bytes), std::byte{0});
}

/// The stream of a device's work as its vendor knows it; null: it has none.
template <class Exec>
void* stream_of(Exec const& exec) {
  if constexpr (requires { exec.cuda_stream(); })
    return exec.cuda_stream();
  else if constexpr (requires { exec.hip_stream(); })
    return exec.hip_stream();
  else
    return nullptr;
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

/// Calls send(in, out) on host copies of `in` and `out`. The device must be idle. `keeps`: parts of `out` stay as they
/// are.
template <class Exec, class Send>
void staged(Exec const& exec, staging_memory<Exec>& staging, void const* in, std::size_t in_bytes, void* out,
            std::size_t out_bytes, bool keeps, Send const& send) {
  auto* const host_in = staging.memory.allocate(in_bytes);
  auto* const host_out = staging.memory.allocate(out_bytes);
  to_host(exec, host_in, in, in_bytes);
  if (keeps) to_host(exec, host_out, out, out_bytes);
  send(host_in, host_out);
  from_host(exec, out, host_out, out_bytes);
  staging.memory.release(host_in, in_bytes);
  staging.memory.release(host_out, out_bytes);
}

}  // namespace mtf::kokkos
