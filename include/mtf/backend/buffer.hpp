#pragma once
// A backend's memory, with a count of its holders; and the sum of a partial value, once it is known.
#include <cstddef>
#include <type_traits>

#include <mtf/backend/known_sum.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::backend {

/// Where memory has no label.
struct no_label {};

/// Memory of a backend. The sum of a partial value is remembered, so that it is paid for once.
template <class Backend>
struct block final : kept_by<Backend> {
  int references = 1;
  Backend* backend;
  void* data;
  std::size_t bytes;   // its own: 0 if it is a part of another block
  ref<block> whole{};  // that one
  known_sum<ref<block>> sum{};
  // On a trace, of a partial value: the operation that made it.
  [[no_unique_address]] std::conditional_t<Backend::holds_data, no_label, operation_label> made_by{};

  constexpr block(Backend& b, std::size_t n) : backend(&b), data(b.allocate(n)), bytes(n) {}
  constexpr block(ref<block> const& of, void* at) : backend(of->backend), data(at), bytes(0), whole(of) {}
  block(block const&) = delete;
  block& operator=(block const&) = delete;
  constexpr ~block() {
    if constexpr (Backend::holds_data)
      if (!whole) backend->release(data, bytes);
  }
  /// For `ref`: nobody holds it any more. Where there is no data, the backend keeps the object until its own end.
  constexpr void unreferenced() {
    if constexpr (Backend::holds_data) {
      destroy_object(*backend, this);
    } else {
      backend->release(data, bytes);
      let_go();
    }
  }
  /// What is known of the operation that made it.
  [[nodiscard]] constexpr operation_label label() const {
    if constexpr (Backend::holds_data)
      return {};
    else
      return made_by;
  }
  /// Its terms are not needed any more: the memory goes back, the sum is still known.
  constexpr void forget_terms() {
    if (!whole) backend->release(data, bytes);
    whole = {};
    data = nullptr;
    bytes = 0;
  }
  /// For `kept`: what it refers to is released.
  constexpr void let_go() {
    sum.forget();
    if (whole) whole = {};
  }
  /// For `kept`: its end.
  constexpr void destroy() { delete this; }
};

/// Memory of a backend, which its last holder returns.
template <class Backend>
using buffer = ref<block<Backend>>;

/// Memory for elements of type T, not initialized.
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

/// p, so many elements on; null where a backend holds no data.
template <class T>
constexpr T* moved(T* p, index by) {
  return p == nullptr ? nullptr : p + by;
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
  from->backend->run(primitives::copy_dense<T>{data_of<T>(copy), data_of<T>(from), elements});
  return copy;
}

}  // namespace mtf::backend
