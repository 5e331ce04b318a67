#pragma once
// The memory of one rank's device: a caching pool. A released block is handed out again at once: all work of a backend
// runs in the order of one execution space instance, so the next user comes after the last one. After its first round
// a training step takes nothing from the system.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <Kokkos_Core.hpp>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mtf {

/// Bytes: in use, the most ever in use, held from the system; and how often blocks were taken from the system.
struct memory_use {
  std::size_t live = 0, peak = 0, reserved = 0;
  std::uint64_t system_allocations = 0;
};

namespace kokkos {

/// The system's memory for large blocks on the host: slabs of large pages, which blocks share. With pages of 4 KiB,
/// products of large matrices wait for the translation of addresses (oneDNN's sgemm of 2048^3: 4%; a step of GPT-2's
/// shape: 5%). If each block had large pages of its own, half of its memory would not be in them (train-step: 2%). The
/// system may decline large pages. Slabs are returned at the end only.
class host_slabs {
 public:
  host_slabs() = default;
  host_slabs(host_slabs const&) = delete;
  host_slabs& operator=(host_slabs const&) = delete;
  ~host_slabs() {
    for (void* p : slabs_) Kokkos::kokkos_free<Kokkos::HostSpace>(p);
  }

  /// `bytes`: a multiple of the alignment that is wanted.
  void* take(std::size_t bytes) {
    if (bytes > left_) add(bytes);
    left_ -= bytes;
    return std::exchange(next_, next_ + bytes);
  }

 private:
  static constexpr std::size_t page = std::size_t{2} << 20U, slab = 32 * page;

  void add(std::size_t least) {
    std::size_t const bytes = std::max(slab, (least + page - 1) / page * page);
    slabs_.push_back(nullptr);
    slabs_.back() = Kokkos::kokkos_malloc<Kokkos::HostSpace>("mtf::pool", bytes + page);
    auto const begin = (reinterpret_cast<std::uintptr_t>(slabs_.back()) + page - 1) / page * page;
    next_ = reinterpret_cast<std::byte*>(begin);
    left_ = bytes;
#if defined(__linux__)
    ::madvise(next_, bytes, MADV_HUGEPAGE);
#endif
  }

  std::vector<void*> slabs_;
  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

/// Blocks of `MemorySpace`, aligned to 64 bytes.
template <class MemorySpace>
class memory_pool {
 public:
  memory_pool() = default;
  memory_pool(memory_pool const&) = delete;
  memory_pool& operator=(memory_pool const&) = delete;
  ~memory_pool() { trim(); }

  void* allocate(std::size_t bytes) {
    std::size_t const block = block_size(bytes);
    auto& cached = free_[block];
    void* p = nullptr;
    if (!cached.empty()) {
      p = cached.back();
      cached.pop_back();
    } else {
      p = from_system(block);
    }
    use_.live += rounded(bytes);
    use_.peak = std::max(use_.peak, use_.live);
    return p;
  }

  /// `bytes` as given to allocate().
  void release(void* p, std::size_t bytes) noexcept {
    if (p == nullptr) return;
    free_[block_size(bytes)].push_back(p);
    use_.live -= rounded(bytes);
  }

  /// Called before memory is taken from the system, or given back: work that is to be launched goes before.
  void before_giving_back(void (*f)(void*), void* with) {
    launch_all_ = f;
    with_ = with;
  }

  [[nodiscard]] memory_use use() const { return use_; }
  void reset_peak() { use_.peak = use_.live; }

  static constexpr std::size_t alignment = 64;
  static constexpr std::size_t rounded(std::size_t bytes) {
    return std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  /// The size class: four to a doubling, so that a block is at most a quarter larger than asked for.
  static constexpr std::size_t block_size(std::size_t bytes) {
    std::size_t const n = rounded(bytes);
    std::size_t const step = std::max(alignment, std::bit_floor(n - 1) / 4);
    return (n + step - 1) / step * step;
  }

 private:
  static constexpr bool on_host = std::is_same_v<MemorySpace, Kokkos::HostSpace>;
  static constexpr bool in_slab(std::size_t block) { return on_host && block >= std::size_t{256} << 10U; }

  void* from_system(std::size_t block) {
    void* const p = take(block);
    ++use_.system_allocations;
    use_.reserved += block;
    return p;
  }
  void* take(std::size_t block) {
    if constexpr (on_host)
      if (in_slab(block)) return slabs_.take(block);
    // (Kokkos writes its header into the memory by the stream, and waits: no graph can have that.)
    if (launch_all_ != nullptr) launch_all_(with_);
    try {
      return Kokkos::kokkos_malloc<MemorySpace>("mtf::pool", block);
    } catch (std::exception const&) {
      Kokkos::fence("mtf::pool: out of memory, giving back cached blocks");
      trim();
      return Kokkos::kokkos_malloc<MemorySpace>("mtf::pool", block);
    }
  }

  // Gives the cached blocks back, but for those in slabs. The execution space must be idle.
  void trim() {
    for (auto& [block, cached] : free_) {
      if (in_slab(block)) continue;
      for (void* p : cached) Kokkos::kokkos_free<MemorySpace>(p);
      use_.reserved -= block * cached.size();
      cached.clear();
    }
  }

  std::map<std::size_t, std::vector<void*>> free_;
  [[no_unique_address]] std::conditional_t<on_host, host_slabs, std::monostate> slabs_;
  memory_use use_;
  void (*launch_all_)(void*) = nullptr;
  void* with_ = nullptr;
};

}  // namespace kokkos
}  // namespace mtf
