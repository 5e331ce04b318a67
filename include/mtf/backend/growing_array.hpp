#pragma once
// What the records of plans, of searches and of collectives grow in. Of std::vector's comfort it has what they need,
// and so costs little where std::vector costs much: compilers bound the steps of a constant expression, and every
// program includes it.
#include <cstddef>
#include <type_traits>

namespace mtf::backend {

/// Plain data that grows at its end.
template <class T>
  requires std::is_trivially_copyable_v<T>
class growing_array {
 public:
  constexpr growing_array() = default;
  constexpr growing_array(growing_array const& other) {
    reserve(other.size_);
    for (T const& x : other) first_[size_++] = x;
  }
  constexpr growing_array(growing_array&& other) noexcept { swap(other); }
  constexpr growing_array& operator=(growing_array other) noexcept {
    swap(other);
    return *this;
  }
  constexpr ~growing_array() { delete[] first_; }

  /// Exchanges what both have.
  constexpr void swap(growing_array& other) noexcept {
    auto const first = first_;
    auto const size = size_, capacity = capacity_;
    first_ = other.first_, size_ = other.size_, capacity_ = other.capacity_;
    other.first_ = first, other.size_ = size, other.capacity_ = capacity;
  }

  /// Room for `count` elements. Appending makes room as well; this bounds how often.
  constexpr void reserve(std::size_t count) {
    if (count <= capacity_) return;
    T* const grown = new T[count];
    for (std::size_t i = 0; i < size_; ++i) grown[i] = first_[i];
    delete[] first_;
    first_ = grown;
    capacity_ = count;
  }
  /// Appends; the argument may be an element.
  constexpr void push_back(T const& x) {
    T const kept = x;
    if (size_ == capacity_) reserve(capacity_ > 0 ? 2 * capacity_ : 8);
    first_[size_++] = kept;
  }
  /// Takes the last element away; there is one.
  constexpr void pop_back() { --size_; }
  /// Keeps the first `count` elements, of at least as many.
  constexpr void keep_first(std::size_t count) { size_ = count; }

  /// No elements?
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
  /// How many there are.
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  /// A pointer, as few steps as there can be; growing invalidates it.
  [[nodiscard]] constexpr T* begin() { return first_; }
  [[nodiscard]] constexpr T const* begin() const { return first_; }
  /// Behind the last element.
  [[nodiscard]] constexpr T* end() { return first_ + size_; }
  [[nodiscard]] constexpr T const* end() const { return first_ + size_; }
  /// The last element; there is one.
  [[nodiscard]] constexpr T& back() { return first_[size_ - 1]; }
  [[nodiscard]] constexpr T const& back() const { return first_[size_ - 1]; }
  /// The element at this index, which is below size().
  [[nodiscard]] constexpr T& operator[](std::size_t i) { return first_[i]; }
  [[nodiscard]] constexpr T const& operator[](std::size_t i) const { return first_[i]; }

 private:
  T* first_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace mtf::backend
