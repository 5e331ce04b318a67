#pragma once
// A copy to the host that is under way while the device goes on.
#include <cstddef>
#include <utility>

#include <Kokkos_Core.hpp>
#include <mtf/kokkos/runtime/staging.hpp>
#include <mtf/kokkos/runtime/stream_events.hpp>

namespace mtf::kokkos {

/// Begun behind the work that is in the stream, into pinned memory of the host. Who makes it outlives it.
template <class Exec>
class host_copy {
 public:
  host_copy(Exec const& exec, staging_memory<Exec>& staging, void const* from, std::size_t bytes)
      : staging_(&staging), host_(staging.memory.allocate(bytes)), bytes_(bytes) {
    using there = Kokkos::View<std::byte const*, typename Exec::memory_space, Kokkos::MemoryUnmanaged>;
    using here = Kokkos::View<std::byte*, typename staging_memory<Exec>::space, Kokkos::MemoryUnmanaged>;
    Kokkos::deep_copy(exec, here(static_cast<std::byte*>(host_), bytes),
                      there(static_cast<std::byte const*>(from), bytes));
    done_ = stream_event<Exec>(exec);
  }
  host_copy(host_copy&& other) noexcept
      : staging_(other.staging_),
        host_(std::exchange(other.host_, nullptr)),
        bytes_(other.bytes_),
        done_(std::move(other.done_)) {}
  host_copy& operator=(host_copy&& other) noexcept {
    std::swap(staging_, other.staging_);
    std::swap(host_, other.host_);
    std::swap(bytes_, other.bytes_);
    std::swap(done_, other.done_);
    return *this;
  }
  ~host_copy() {
    if (host_ == nullptr) return;
    done_.wait_quietly();  // before the memory is somebody else's
    staging_->memory.release(host_, bytes_);
  }

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Waits for it, and for nothing behind it.
  [[nodiscard]] void const* arrived() const {
    done_.wait();
    return host_;
  }

 private:
  staging_memory<Exec>* staging_;
  void* host_;
  std::size_t bytes_;
  stream_event<Exec> done_;
};

}  // namespace mtf::kokkos
