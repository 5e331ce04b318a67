#pragma once
// Memory for a backend's small objects on the host: blocks, gradient slots, nodes. A training step makes thousands of
// them; after its first round it takes nothing from the system.
#include <array>
#include <cstddef>
#include <new>

namespace mtf::backend {

/// Memory for the library's own small objects of one rank, in free lists by size: `new` costs more. Large ones are the
/// system's. Not for several threads.
class object_pool {
 public:
  static constexpr std::size_t alignment = 64;

  object_pool() = default;
  object_pool(object_pool const&) = delete;
  object_pool& operator=(object_pool const&) = delete;
  ~object_pool() {
    for (link*& first : free_)
      while (first != nullptr) {
        link* const next = first->next;
        to_system(first);
        first = next;
      }
  }

  /// Memory of at least `bytes`, at least 1, aligned to `alignment`.
  void* take(std::size_t bytes) {
    std::size_t const c = size_class(bytes);
    if (c >= classes || free_[c] == nullptr) return from_system((c + 1) * grain);
    link* const p = free_[c];
    free_[c] = p->next;
    return p;
  }
  /// `bytes` as given to take().
  void give(void* p, std::size_t bytes) noexcept {
    std::size_t const c = size_class(bytes);
    if (c >= classes) return to_system(p);
    free_[c] = ::new (p) link{free_[c]};
  }

 private:
  struct link {
    link* next;
  };
  static void* from_system(std::size_t bytes) { return ::operator new(bytes, std::align_val_t{alignment}); }
  static void to_system(void* p) { ::operator delete(p, std::align_val_t{alignment}); }
  static constexpr std::size_t grain = 32;
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t classes = 0;  // the sanitizer is to see what is used after its end
#else
  static constexpr std::size_t classes = 16;
#endif
  static constexpr std::size_t size_class(std::size_t bytes) { return (bytes - 1) / grain; }

  std::array<link*, classes> free_{};
};

}  // namespace mtf::backend
