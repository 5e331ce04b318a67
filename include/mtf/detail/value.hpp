#pragma once
// What a tensor holds at run time, without names: counted memory, and where its gradient is collected.
#include <array>
#include <cstddef>
#include <utility>

#include <mtf/collectives.hpp>
#include <mtf/detail/sharding.hpp>

namespace mtf::detail {

/// An intrusive pointer. A rank is one thread, so the counts are plain integers.
template <class T>
class ref {
 public:
  constexpr ref() = default;
  constexpr explicit ref(T* fresh) : at_(fresh) {}  // takes over the first reference
  constexpr ref(ref const& o) : at_(o.at_) {
    if (at_ != nullptr) ++at_->references;
  }
  constexpr ref(ref&& o) noexcept : at_(std::exchange(o.at_, nullptr)) {}
  constexpr ref& operator=(ref o) noexcept {
    std::swap(at_, o.at_);
    return *this;
  }
  constexpr ~ref() {
    if (at_ != nullptr && --at_->references == 0) delete at_;
  }
  constexpr T* operator->() const { return at_; }
  constexpr T& operator*() const { return *at_; }
  constexpr T* get() const { return at_; }
  constexpr explicit operator bool() const { return at_ != nullptr; }
  [[nodiscard]] constexpr bool unique() const { return at_->references == 1; }

 private:
  T* at_ = nullptr;
};

/// Memory of a backend. `completed` remembers the completed sum of a partial value, so that it is paid for once.
template <class Backend>
struct block {
  int references = 1;
  Backend* backend;
  void* data;
  std::size_t bytes;
  ref<block> completed{};
  axis_mask completed_axes = 0;

  block(Backend& b, std::size_t n) : backend(&b), data(b.allocate(n)), bytes(n) {}
  block(block const&) = delete;
  block& operator=(block const&) = delete;
  ~block() { backend->release(data, bytes); }
};

template <class Backend>
using buffer = ref<block<Backend>>;

template <class T, class Backend>
buffer<Backend> make_buffer(Backend& b, index elements) {
  return buffer<Backend>(new block<Backend>(b, static_cast<std::size_t>(elements) * sizeof(T)));
}

template <class T, class Backend>
T* data_of(buffer<Backend> const& b) {
  return static_cast<T*>(b->data);
}

template <class Backend>
class tape;
template <class Backend, class T>
class gradient_slot;

/// A rank's shard of a tensor, and the slot of its gradient if someone asked for one.
template <class Backend, class T>
struct value {
  buffer<Backend> memory;
  ref<gradient_slot<Backend, T>> slot;

  value() = default;
  explicit value(buffer<Backend> m, ref<gradient_slot<Backend, T>> s = {}) : memory(std::move(m)), slot(std::move(s)) {}
  [[nodiscard]] T* data() const { return data_of<T>(memory); }
  [[nodiscard]] Backend& backend() const { return *memory->backend; }
};

template <class T, class Backend>
value<Backend, T> make_value(Backend& b, index elements) {
  return value<Backend, T>(make_buffer<T>(b, elements));
}

}  // namespace mtf::detail
