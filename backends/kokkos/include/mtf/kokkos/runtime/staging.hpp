#pragma once
// Data between device and host: plain transfers, and pinned host memory for collectives where MPI cannot reach the
// device's memory itself.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// Bytes that one thread of the host moves or zeroes at a time.
constexpr index host_bytes = index(1) << 16;

/// One part of host memory: of `from`, or zeros where there is none.
struct host_move {
  std::byte* to;
  std::byte const* from;
  index bytes;
  void operator()(index part) const {
    index const begin = part * host_bytes;
    auto const n = static_cast<std::size_t>(std::min(bytes - begin, host_bytes));
    if (from != nullptr)
      std::memcpy(to + begin, from + begin, n);
    else
      std::memset(to + begin, 0, n);
  }
};

/// From device memory to device memory. Of bytes, whatever the elements are: one copy for a program to compile. (On the
/// host not by Kokkos::deep_copy, which compiles the copies of strided views too: seven MiB of the compiler.)
template <class Exec>
void copy_bytes(Exec const& exec, void* to, void const* from, std::size_t bytes) {
  if constexpr (runs_on_host<Exec>) {
    auto const n = static_cast<index>(bytes);
    host_move const move{static_cast<std::byte*>(to), static_cast<std::byte const*>(from), n};
    if (n > 0) launch_on_host("mtf::copy_bytes", exec, ceil_div(n, host_bytes), n, move);
  } else {
    using source = Kokkos::View<std::byte const*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
    using target = Kokkos::View<std::byte*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
    Kokkos::deep_copy(exec, target(static_cast<std::byte*>(to), bytes),
                      source(static_cast<std::byte const*>(from), bytes));
  }
}

template <class Exec>
void zero_bytes(Exec const& exec, void* to, std::size_t bytes) {
  if constexpr (runs_on_host<Exec>) {
    auto const n = static_cast<index>(bytes);
    if (n > 0)
      launch_on_host("mtf::zero_bytes", exec, ceil_div(n, host_bytes), n,
                     host_move{static_cast<std::byte*>(to), nullptr, n});
  } else {
    using target = Kokkos::View<std::byte*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
    // (Where there is no memory Kokkos would wait for the device.)
    if (bytes > 0) Kokkos::deep_copy(exec, target(static_cast<std::byte*>(to), bytes), std::byte{0});
  }
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
