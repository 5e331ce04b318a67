#pragma once
// What a backend knows of layouts that are values: those that it was given, the shardings of tensors under them, and
// what rules derived for these. Each is kept once, until the backend's end, so that nodes on a tape can point to it.
// (Lists by hand: they are short, and including this is to be cheap.)
#include <array>
#include <cstddef>
#include <string>

#include <mtf/core/error.hpp>
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
  derivation* next = nullptr;  // of the same first operand

  /// Its end.
  constexpr virtual void destroy() = 0;

 protected:
  constexpr explicit derivation(void const* by) : rule(by) {}
  constexpr ~derivation() = default;
};

/// The sharding of a tensor whose layout is a value. Two arrangements of one table are equal if their addresses are.
struct arrangement {
  sharding spec;
  layout_value const* layout = nullptr;  // for the dimensions that operations add
  /// What was derived for operands of which the first has this sharding. (A pointer to the list: GCC 12 changes no
  /// mutable member in a constant expression.)
  derivation** derived = nullptr;
  arrangement* next = nullptr;  // of the table
};

/// The layouts of one backend.
class layout_table {
 public:
  constexpr layout_table() = default;
  layout_table(layout_table const&) = delete;
  layout_table& operator=(layout_table const&) = delete;
  constexpr ~layout_table() {
    while (arrangements_ != nullptr) {
      auto* const a = arrangements_;
      arrangements_ = a->next;
      while (*a->derived != nullptr) {
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

  /// The layout, kept.
  constexpr layout_value const& keep(layout_value const& layout) {
    for (auto const* l = layouts_; l != nullptr; l = l->next)
      if (l->value == layout) return l->value;
    layouts_ = new kept_layout{layout, layouts_};
    return layouts_->value;
  }
  /// The arrangement of this sharding; `layout` is kept by this table.
  constexpr arrangement const& arranged(sharding const& spec, layout_value const& layout) {
    for (auto const* a = arrangements_; a != nullptr; a = a->next)
      if (a->layout == &layout && a->spec == spec) return *a;
    arrangements_ = new arrangement{spec, &layout, new derivation*(nullptr), arrangements_};
    return *arrangements_;
  }

 private:
  struct kept_layout {
    layout_value value;
    kept_layout* next;
  };
  kept_layout* layouts_ = nullptr;
  std::array<layout_value const*, max_layouts> given_{};
  std::size_t size_ = 0;
  arrangement* arrangements_ = nullptr;
};

}  // namespace mtf::backend
