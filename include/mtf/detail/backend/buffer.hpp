#pragma once
// What a tensor holds at run time, without names: counted memory, and where its gradient is collected.
#include <array>
#include <cstddef>
#include <utility>

#include <mtf/backend/collectives.hpp>
#include <mtf/backend/object_pool.hpp>
#include <mtf/detail/sharding/sharding.hpp>

namespace mtf::detail {

/// What a backend without data owns until its end, however its counts go: in constant expressions GCC before 14 destroys
/// by-value arguments as they were passed, not as the function left them (its bug 111284), and GCC 12 does not count what
/// `condition ? x : X(...)` copies. We write neither; should a user's function, only the plan's figure of memory is off.
/// (`destroy`, and no virtual destructor: nvcc 13.0 aborts when a constant expression deletes a template's instance by its
/// base, and GCC 12 wants such destructors spelled out.)
class kept {
 public:
  constexpr virtual void destroy() = 0;
  constexpr virtual void let_go() = 0;

 protected:
  constexpr ~kept() = default;
};
struct not_kept {};
template <class Backend>
using kept_by = std::conditional_t<Backend::holds_data, not_kept, kept>;

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
  constexpr ref& operator=(ref const& o) noexcept {
    ref copy(o);
    std::swap(at_, copy.at_);
    return *this;
  }
  constexpr ref& operator=(ref&& o) noexcept {
    ref moved(std::move(o));
    std::swap(at_, moved.at_);
    return *this;
  }
  constexpr ~ref() {
    if (at_ != nullptr && --at_->references == 0) at_->unreferenced();
  }
  constexpr T* operator->() const { return at_; }
  constexpr T& operator*() const { return *at_; }
  constexpr T* get() const { return at_; }
  constexpr explicit operator bool() const { return at_ != nullptr; }
  /// Of memory: nobody else holds it, nor what it is a part of. Other memory is not written: tensors are values.
  [[nodiscard]] constexpr bool unique() const {
    return at_->references == 1 && (!at_->whole || at_->whole.unique());
  }

 private:
  T* at_ = nullptr;
};

/// A T in memory of the backend's. Constant expressions, and so backends without data, can only say `new`.
template <class T, class Backend, class... Args>
constexpr T* make_object([[maybe_unused]] Backend& b, Args&&... args) {
  if constexpr (Backend::holds_data) {
    static_assert(alignof(T) <= object_pool::alignment);
    void* const at = b.objects().take(sizeof(T));
    try {
      return ::new (at) T(args...);
    } catch (...) {
      b.objects().give(at, sizeof(T));
      throw;
    }
  } else {
    return new T(args...);
  }
}
template <class Backend, class T>
constexpr void destroy_object([[maybe_unused]] Backend& b, T* x) {
  if constexpr (Backend::holds_data) {
    x->~T();
    b.objects().give(x, sizeof(T));
  } else {
    delete x;
  }
}

/// A new T, which a backend without data owns.
template <class T, class Backend, class... Args>
constexpr ref<T> make_ref(Backend& b, Args&&... args) {
  T* const fresh = make_object<T>(b, args...);
  if constexpr (!Backend::holds_data) b.keep(fresh);
  return ref<T>(fresh);
}

/// Memory of a backend. The completed sum of a partial value is remembered, so that it is paid for once.
template <class Backend>
struct block final : kept_by<Backend> {
  int references = 1;
  Backend* backend;
  void* data;
  std::size_t bytes;  // its own: 0 if it is a part of another block
  ref<block> whole{};  // that one
  axis_mask completed_axes = 0;
  ref<block> completed{};       // the sum over these axes; null: it was taken in place
  axis_mask completed_cut = 0;  // of that sum this rank has its part along these axes (cut_further)

  constexpr block(Backend& b, std::size_t n) : backend(&b), data(b.allocate(n)), bytes(n) {}
  constexpr block(ref<block> const& of, void* at) : backend(of->backend), data(at), bytes(0), whole(of) {}
  block(block const&) = delete;
  block& operator=(block const&) = delete;
  constexpr ~block() {
    if constexpr (Backend::holds_data)
      if (!whole) backend->release(data, bytes);
  }
  constexpr void unreferenced() {
    if constexpr (Backend::holds_data) {
      destroy_object(*backend, this);
    } else {
      backend->release(data, bytes);
      let_go();
    }
  }
  /// Its terms are not needed any more: the memory goes back, the completed sum is still known.
  constexpr void forget_terms() {
    if (!whole) backend->release(data, bytes);
    whole = {};
    data = nullptr;
    bytes = 0;
  }
  constexpr void let_go() {
    completed = {};
    whole = {};
  }
  constexpr void destroy() { delete this; }
};

template <class Backend>
using buffer = ref<block<Backend>>;

template <class T, class Backend>
constexpr buffer<Backend> make_buffer(Backend& b, index elements) {
  return make_ref<block<Backend>>(b, b, static_cast<std::size_t>(elements) * sizeof(T));
}

/// Element `offset` of a buffer; null where a backend holds no data.
template <class T, class Backend>
constexpr T* data_of(buffer<Backend> const& b, [[maybe_unused]] index offset = 0) {
  if constexpr (Backend::holds_data)
    return static_cast<T*>(b->data) + offset;
  else
    return nullptr;
}

/// A buffer from element `offset` on.
template <class T, class Backend>
constexpr buffer<Backend> part_of(buffer<Backend> const& whole, index offset) {
  return make_ref<block<Backend>>(*whole->backend, whole, static_cast<void*>(data_of<T>(whole, offset)));
}

/// The same elements in memory of their own.
template <class T, class Backend>
constexpr buffer<Backend> copy_of(buffer<Backend> const& from, index elements) {
  auto copy = make_buffer<T>(*from->backend, elements);
  loops<2> const flat{.rank = 1, .extent = {elements}, .stride = {extents{1}, extents{1}}};
  from->backend->copy(flat, data_of<T>(copy), static_cast<T const*>(data_of<T>(from)));
  return copy;
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

  constexpr value() = default;
  constexpr explicit value(buffer<Backend> const& m, ref<gradient_slot<Backend, T>> const& s = {}) : memory(m), slot(s) {}
  [[nodiscard]] constexpr T* data() const { return data_of<T>(memory); }
  [[nodiscard]] constexpr Backend& backend() const { return *memory->backend; }
};

template <class T, class Backend>
constexpr value<Backend, T> make_value(Backend& b, index elements) {
  return value<Backend, T>(make_buffer<T>(b, elements));
}

}  // namespace mtf::detail
