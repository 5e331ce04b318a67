#pragma once
// What a worker of attention on the host reads and writes: scratch memory of its own, and the rows that come next.
#include <array>
#include <cstddef>

#include <mtf/backend/work.hpp>
#include <mtf/kokkos/runtime/device.hpp>

namespace mtf::kokkos {

/// Hands out arrays, one after the other. If it is made without memory, it only counts the bytes that are needed.
class scratch_memory {
 public:
  explicit scratch_memory(std::byte* at = nullptr) : begin_(at), at_(at) {}
  template <class A>
  A* take(index count) {
    A* const mine = begin_ == nullptr ? nullptr : reinterpret_cast<A*>(at_);
    index const bytes = ceil_div(count * static_cast<index>(sizeof(A)), 64) * 64;
    if (begin_ != nullptr) at_ += bytes;
    bytes_ += bytes;
    return mine;
  }
  [[nodiscard]] index bytes() const { return bytes_; }

 private:
  std::byte *begin_, *at_;
  index bytes_ = 0;
};

/// Rows that are used next: they are far apart, where the processor does not prefetch by itself. A few are prefetched
/// at each tile of a task's products, so that the memory is as busy as the arithmetic.
template <class T>
class coming_rows {
 public:
  explicit coming_rows(index head) : head_(head) {}
  void add(T const* at, index stride, index count) { parts_[static_cast<std::size_t>(size_++)] = {at, stride, count}; }

  void ask_for_some() {
    constexpr index some = 4;
    for (index n = 0; n < some && now_ < size_; ++n) {
      part const& p = parts_[static_cast<std::size_t>(now_)];
      T const* const row = p.at + row_ * p.stride;
      constexpr int second_level_cache = 2;
      for (index h = 0; h < head_; h += 64 / static_cast<index>(sizeof(T)))
        __builtin_prefetch(row + h, 0, second_level_cache);
      if (++row_ == p.count) {
        row_ = 0;
        ++now_;
      }
    }
  }

 private:
  struct part {
    T const* at;
    index stride, count;
  };
  std::array<part, 8> parts_;
  index head_, size_ = 0, now_ = 0, row_ = 0;
};

}  // namespace mtf::kokkos
