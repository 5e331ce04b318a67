#pragma once
// What a tensor holds at run time, without names: memory, and where its gradient is collected.
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>

namespace mtf::detail {

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
  constexpr explicit value(buffer<Backend> const& m, ref<gradient_slot<Backend, T>> const& s = {})
      : memory(m), slot(s) {}
  [[nodiscard]] constexpr T* data() const { return data_of<T>(memory); }
  [[nodiscard]] constexpr Backend& backend() const { return *memory->backend; }
};

template <class T, class Backend>
constexpr value<Backend, T> make_value(Backend& b, index elements) {
  return value<Backend, T>(make_buffer<T>(b, elements));
}

}  // namespace mtf::detail
