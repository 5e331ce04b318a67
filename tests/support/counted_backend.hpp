#pragma once
// A backend that counts the memory of tensors as a plan does.
#include <algorithm>
#include <cstddef>

#include <mtf/kokkos.hpp>

namespace tests {

/// Kokkos' Serial, and the bytes of tensors as a plan counts them: neither rounded up nor with kernels' workspaces.
class counted_backend : public mtf::kokkos_backend<Kokkos::Serial> {
  using base = mtf::kokkos_backend<Kokkos::Serial>;

 public:
  using base::base;
  void* allocate(std::size_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    return base::allocate(bytes);
  }
  void release(void* p, std::size_t bytes) noexcept {
    live_ -= bytes;
    base::release(p, bytes);
  }
  void forget_peak() { peak_ = live_; }
  [[nodiscard]] std::size_t live() const { return live_; }
  [[nodiscard]] std::size_t peak() const { return peak_; }

 private:
  std::size_t live_ = 0, peak_ = 0;
};

}  // namespace tests
