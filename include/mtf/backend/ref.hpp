#pragma once
// Counted references to objects of a backend.
#include <type_traits>

#include <mtf/backend/object_pool.hpp>

namespace mtf::backend {

/// What a backend without data owns until its end, however its counts go: in constant expressions GCC before 14
/// destroys by-value arguments as they were passed, not as the function left them (its bug 111284), and GCC 12 does not
/// count what `condition ? x : X(...)` copies. We write neither; should a user's function, only the plan's figure of
/// memory is off.
/// (`destroy`, and no virtual destructor: nvcc 13.0 aborts when a constant expression deletes a template's instance by
/// its base, and GCC 12 wants such destructors spelled out.)
class kept {
 public:
  /// Its end: deletes it, as the type that it is.
  constexpr virtual void destroy() = 0;
  /// Before the end: releases what it refers to, so that the order of the ends does not matter.
  constexpr virtual void let_go() = 0;

 protected:
  constexpr ~kept() = default;
};
/// In place of `kept` where there is data.
struct not_kept {};
/// The base of a backend's objects.
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
  // Without std::exchange and std::swap, and with few functions of its own: compilers bound the steps of a constant
  // expression, and plans are made of these.
  constexpr ref(ref&& o) noexcept : at_(o.at_) { o.at_ = nullptr; }
  constexpr ref& operator=(ref const& o) noexcept {
    if (this == &o) return *this;
    if (o.at_ != nullptr) ++o.at_->references;
    replace(o.at_);
    return *this;
  }
  constexpr ref& operator=(ref&& o) noexcept {
    T* const by = o.at_;
    o.at_ = nullptr;
    replace(by);
    return *this;
  }
  constexpr ~ref() {
    if (at_ != nullptr && --at_->references == 0) at_->unreferenced();
  }
  constexpr T* operator->() const { return at_; }
  constexpr T& operator*() const { return *at_; }
  /// The object, or null.
  constexpr T* get() const { return at_; }
  constexpr explicit operator bool() const { return at_ != nullptr; }
  /// Of memory: nobody else holds it, nor what it is a part of. Other memory is not written: tensors are values.
  [[nodiscard]] constexpr bool unique() const { return at_->references == 1 && (!at_->whole || at_->whole.unique()); }

 private:
  constexpr void replace(T* by) noexcept {
    T* const before = at_;
    at_ = by;
    if (before != nullptr && --before->references == 0) before->unreferenced();
  }
  T* at_ = nullptr;
};

/// A T in memory of the backend's. Constant expressions, and so backends without data, can only say `new`.
template <class T, class Backend, class... Args>
constexpr T* make_object([[maybe_unused]] Backend& b, Args&&... args) {
  if constexpr (Backend::holds_data) {
    static_assert(alignof(T) <= backend::object_pool::alignment);
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
/// The end of what make_object made.
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

}  // namespace mtf::backend
