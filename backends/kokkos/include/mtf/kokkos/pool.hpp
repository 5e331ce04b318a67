#pragma once
// The memory of one rank's device: a caching pool. A released block is handed out again at once: all work of a backend
// runs in the order of one execution space instance, so the next user comes after the last one. After its first round
// a training step takes nothing from the system.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include <Kokkos_Core.hpp>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mtf {

/// Bytes: in use, the most ever in use, held from the system; and how often the system was asked.
struct memory_use {
  std::size_t live = 0, peak = 0, reserved = 0;
  std::uint64_t system_allocations = 0;
};

namespace detail {

/// Asks for large pages where they fit: with 4 KiB each, products of large matrices wait for the translation of addresses
/// (oneDNN's sgemm of 2048^3: 4% faster; a step of GPT-2's shape: 5%). The system may decline.
inline void prefer_large_pages([[maybe_unused]] void* p, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__)
  constexpr std::size_t page = std::size_t{2} << 20U;
  auto const begin = (reinterpret_cast<std::uintptr_t>(p) + page - 1) / page * page;
  auto const end = (reinterpret_cast<std::uintptr_t>(p) + bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

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

  [[nodiscard]] memory_use use() const { return use_; }
  void reset_peak() { use_.peak = use_.live; }

  /// Gives the cached blocks back to the system. The execution space must be idle.
  void trim() {
    for (auto& [block, cached] : free_) {
      for (void* p : cached) Kokkos::kokkos_free<MemorySpace>(p);
      use_.reserved -= block * cached.size();
      cached.clear();
    }
  }

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
  void* from_system(std::size_t block) {
    ++use_.system_allocations;
    void* p = nullptr;
    try {
      p = Kokkos::kokkos_malloc<MemorySpace>("mtf::pool", block);
    } catch (std::exception const&) {
      Kokkos::fence("mtf::pool: out of memory, giving back cached blocks");
      trim();
      p = Kokkos::kokkos_malloc<MemorySpace>("mtf::pool", block);
    }
    if constexpr (std::is_same_v<MemorySpace, Kokkos::HostSpace>) prefer_large_pages(p, block);
    use_.reserved += block;
    return p;
  }

  std::map<std::size_t, std::vector<void*>> free_;
  memory_use use_;
};

}  // namespace detail
}  // namespace mtf
