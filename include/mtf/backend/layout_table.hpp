#pragma once
// What a backend knows of layouts that are values: those that it was given, the shardings of tensors under them, and
// what rules derived for these. Each is kept once, so that nodes on a tape can point to it: until the backend's end,
// but for what was derived, which goes where lengths vary so much that it would fill the memory. (Tables by hand:
// including this is to be cheap. In constant expressions, where addresses have no hash, lists.)
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/sentence.hpp>

namespace mtf::backend {

/// What one rule derived for operands with certain shardings. A rule is identified by an address, from which the
/// derived class is known too. (`destroy`, and no virtual destructor: see mtf/backend/ref.hpp.)
class derivation {
 public:
  void const* rule;
  derivation* next = nullptr;  // in constant expressions: of the same first operand
  std::size_t bytes;           // of memory
  std::size_t hash = 0;

  /// Its end.
  constexpr virtual void destroy() = 0;

 protected:
  constexpr derivation(void const* by, std::size_t size) : rule(by), bytes(size) {}
  constexpr ~derivation() = default;
};

/// Pointers to what has a hash, found by it: open addressing, at most half full. They are owned elsewhere.
template <class T>
class hash_table {
 public:
  constexpr hash_table() = default;
  hash_table(hash_table const&) = delete;
  hash_table& operator=(hash_table const&) = delete;
  constexpr ~hash_table() { delete[] at_; }

  /// The one with this hash of which is(it) holds; null if there is none.
  template <class Is>
  [[nodiscard]] T* find(std::size_t hash, Is const& is) const {
    if (at_ == nullptr) return nullptr;
    for (std::size_t i = hash & mask_; at_[i] != nullptr; i = (i + 1) & mask_)
      if (at_[i]->hash == hash && is(*at_[i])) return at_[i];
    return nullptr;
  }
  /// It is not there yet.
  void add(T* one) {
    if (at_ == nullptr || 2 * size_ > mask_) grow();
    put(one);
    ++size_;
  }
  /// f(one), of each; then it is empty.
  template <class F>
  constexpr void clear(F const& f) {
    if (at_ == nullptr) return;
    for (std::size_t i = 0; i <= mask_; ++i)
      if (at_[i] != nullptr) f(at_[i]);
    delete[] at_;
    at_ = nullptr;
    size_ = 0;
  }

 private:
  void put(T* one) {
    std::size_t i = one->hash & mask_;
    while (at_[i] != nullptr) i = (i + 1) & mask_;
    at_[i] = one;
  }
  void grow() {
    auto** const before = at_;
    std::size_t const count = before != nullptr ? mask_ + 1 : 0;
    mask_ = count != 0 ? 2 * count - 1 : 63;
    at_ = new T*[mask_ + 1]();
    for (std::size_t i = 0; i < count; ++i)
      if (before[i] != nullptr) put(before[i]);
    delete[] before;
  }

  T** at_ = nullptr;
  std::size_t mask_ = 0, size_ = 0;
};
/// A hash of what `hash` is of, and of one value more.
constexpr std::size_t mixed(std::size_t hash, std::uint64_t value) {
  auto const h = (static_cast<std::uint64_t>(hash) ^ value) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(h ^ (h >> 32U));
}

/// The sharding of a tensor whose layout is a value. Two arrangements of one table are equal if their addresses are.
struct arrangement {
  sharding spec;
  layout_value const* layout = nullptr;  // for the dimensions that operations add
  /// In constant expressions what was derived for operands of which the first has this sharding. (A pointer to the
  /// list: GCC 12 changes no mutable member in a constant expression.)
  derivation** derived = nullptr;
  arrangement* next = nullptr;  // of the table
  std::size_t hash = 0;
};

/// So much memory takes what rules derived on a backend that holds data, before it is forgotten: thousands of works, or
/// hundreds of lengths of a Transformer.
inline constexpr std::size_t most_bytes_of_works = std::size_t{32} << 20U;

/// The layouts of one backend.
class layout_table {
 public:
  /// `most_works`: bytes of works, beyond which they are forgotten where no tape has nodes; 0: never.
  constexpr explicit layout_table(std::size_t most_works = 0) : most_bytes_(most_works) {}
  layout_table(layout_table const&) = delete;
  layout_table& operator=(layout_table const&) = delete;
  constexpr ~layout_table() {
    works_.clear(destroy);
    forgotten_.clear(destroy);
    while (arrangements_ != nullptr) {
      auto* const a = arrangements_;
      arrangements_ = a->next;
      while (a->derived != nullptr && *a->derived != nullptr) {
        auto* const d = *a->derived;
        *a->derived = d->next;
        d->destroy();
      }
      delete a->derived;
      delete a;
    }
    while (layouts_ != nullptr) {
      auto* const l = layouts_;
      layouts_ = l->next;
      delete l;
    }
  }

  /// The next of the layouts that any_layout<I> stands for. One on another mesh than those before, or more than
  /// max_layouts of them: a user_error.
  constexpr void add(layout_value const& layout) {
    if (size_ > 0 && !(layout.mesh == given_[0]->mesh))
      throw user_error(
          detail::refusal(MTF_SAYS_DIFFERENT_MESHES, "[" + given_[0]->mesh.text() + "], [" + layout.mesh.text() + "]"));
    if (size_ == max_layouts)
      throw user_error("a backend takes up to " + std::to_string(max_layouts) + " layouts, mtf::max_layouts");
    given_[size_++] = &keep(layout);
  }
  /// Takes back what was added, so that others can be. Tensors that are there keep theirs.
  constexpr void clear() { size_ = 0; }
  /// How many were added.
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  /// The I-th. One that was not added is a user_error.
  [[nodiscard]] constexpr layout_value const& operator[](std::size_t i) const {
    if (i >= size_)
      throw user_error("a tensor of any_layout<" + std::to_string(i) + "> is asked for, but the backend was given " +
                       std::to_string(size_) + " layouts: call backend.layouts().add(layout) first");
    return *given_[i];
  }

  /// Extents of dimensions that have none in their types: of the tensors that are made from here on. Tensors that are
  /// there keep theirs.
  constexpr void give(extents_value const& extents) { extents_.give(extents); }
  /// All that were given.
  [[nodiscard]] constexpr extents_value const& extents() const { return extents_; }

  /// The layout, kept.
  constexpr layout_value const& keep(layout_value const& layout) {
    for (auto const* l = layouts_; l != nullptr; l = l->next)
      if (l->value == layout) return l->value;
    layouts_ = new kept_layout{layout, layouts_};
    return layouts_->value;
  }
  /// The arrangement of this sharding; `layout` is kept by this table.
  /// More than max_elements of a tensor: a user_error.
  constexpr arrangement const& arranged(sharding const& spec, layout_value const& layout) {
    if (std::is_constant_evaluated()) {
      for (auto const* a = arrangements_; a != nullptr; a = a->next)
        if (a->layout == &layout && a->spec == spec) return *a;
      check_elements(spec);
      arrangements_ = new arrangement{spec, &layout, new derivation*(nullptr), arrangements_};
    } else {
      auto const hash = hash_of(spec, layout);
      if (auto const* const a =
              by_hash_.find(hash, [&](arrangement const& x) { return x.layout == &layout && x.spec == spec; }))
        return *a;
      check_elements(spec);
      arrangements_ = new arrangement{spec, &layout, nullptr, arrangements_, hash};
      by_hash_.add(arrangements_);
    }
    return *arrangements_;
  }

  /// What was derived with this hash, of which is(it) holds.
  template <class Is>
  [[nodiscard]] derivation const* find_work(std::size_t hash, Is const& is) const {
    return works_.find(hash, is);
  }
  /// Keeps it.
  void keep_work(derivation* work) {
    if (tapes_ == 0) forget_too_many();
    bytes_ += work->bytes;
    works_.add(work);
  }
  /// Another limit than most_bytes_of_works.
  void limit_works(std::size_t bytes) { most_bytes_ = bytes; }
  /// Bytes of what is found.
  [[nodiscard]] std::size_t bytes_of_works() const { return bytes_; }
  /// A tape begins, whose nodes will refer to works.
  constexpr void begin_tape() { ++tapes_; }
  /// It has no nodes any more.
  constexpr void end_tape() {
    if (--tapes_ == 0 && !std::is_constant_evaluated()) forget_too_many();
  }

 private:
  static constexpr void destroy(derivation* work) { work->destroy(); }
  static constexpr void check_elements(sharding const& s) {
    std::int64_t n = 1;
    for (int d = 0; d < s.ndim; ++d) {
      if (s[d].extent > max_elements / n) too_many_elements(s);
      n *= s[d].extent;
    }
  }
  // Not constexpr: a plan of such a program ends here.
  [[noreturn]] static void too_many_elements(sharding const& s) {
    std::string text;
    for (int d = 0; d < s.ndim; ++d)
      text += (d == 0 ? "" : ", ") + std::string(s[d].name) + " " + std::to_string(s[d].extent);
    throw user_error("a tensor has at most " + std::to_string(max_elements) +
                     " elements, mtf::max_elements; here: " + text);
  }
  /// If works take too much memory, while no node of a tape refers to any. They are found no more, and end when this
  /// happens again, since an operation that runs may still look at some.
  void forget_too_many() {
    if (most_bytes_ == 0 || bytes_ <= most_bytes_) return;
    forgotten_.clear(destroy);
    works_.clear([&](derivation* w) { forgotten_.add(w); });
    bytes_ = 0;
  }
  static std::size_t hash_of(sharding const& s, layout_value const& layout) {
    std::size_t h = mixed(s.partial, reinterpret_cast<std::uintptr_t>(&layout));
    for (int d = 0; d < s.ndim; ++d) {
      h = mixed(h, s[d].id);
      h = mixed(h, static_cast<std::uint64_t>(s[d].extent));
      for (int i = 0; i < s[d].split.size; ++i) h = mixed(h, static_cast<std::uint64_t>(s[d].split[i]) + 1);
    }
    return h;
  }

  struct kept_layout {
    layout_value value;
    kept_layout* next;
  };
  kept_layout* layouts_ = nullptr;
  std::array<layout_value const*, max_layouts> given_{};
  std::size_t size_ = 0;
  arrangement* arrangements_ = nullptr;
  extents_value extents_;
  hash_table<arrangement> by_hash_;
  hash_table<derivation> works_, forgotten_;
  std::size_t bytes_ = 0, most_bytes_ = 0;
  int tapes_ = 0;
};

}  // namespace mtf::backend
