#pragma once
// What a tensor holds at run time, without names: memory, and where its gradient is collected.
#include <type_traits>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>  // IWYU pragma: export
#include <mtf/detail/tape/gradient_slot.hpp>

namespace mtf::detail {

template <class Backend>
class tape;
template <class Backend, class T>
class gradient_slot;

/// In place of a slot in tensors of integers and bools, which have no gradient.
struct no_slot {
  constexpr explicit operator bool() const { return false; }
};
template <class Backend, class T>
using slot_t = std::conditional_t<is_floating<T>, ref<gradient_slot<Backend, T>>, no_slot>;

/// A rank's shard of a tensor, and the slot of its gradient if the tensor is tracked.
template <class Backend, class T>
struct value {
  buffer<Backend> memory;
  [[no_unique_address]] slot_t<Backend, T> slot;

  constexpr value() = default;
  constexpr explicit value(buffer<Backend> const& m, slot_t<Backend, T> const& s = {}) : memory(m), slot(s) {}
  [[nodiscard]] constexpr T* data() const { return data_of<T>(memory); }
  [[nodiscard]] constexpr Backend& backend() const { return *memory->backend; }
};

template <class T, class Backend>
constexpr value<Backend, T> make_value(Backend& b, index elements) {
  return value<Backend, T>(make_buffer<T>(b, elements));
}

}  // namespace mtf::detail
