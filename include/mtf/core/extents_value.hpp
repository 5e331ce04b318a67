#pragma once
// Extents that are values: how long dimensions are whose types do not say it, by name.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <mtf/core/error.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/notation.hpp>

namespace mtf {

/// The extents of some dimensions, by name. `extents_from` reads them from a text.
class extents_value {
 public:
  constexpr extents_value() = default;
  constexpr extents_value(std::initializer_list<std::pair<std::string_view, std::int64_t>> all) {
    for (auto const& one : all) give(one.first, one.second);
  }
  bool operator==(extents_value const&) const = default;

  /// Sets one, in place of a former one of that name. Below 1, or of more than max_given_extents dimensions: a
  /// user_error.
  constexpr void give(std::string_view name, std::int64_t extent) {
    if (extent < 1)
      throw user_error("a dimension has an extent of at least 1; here: " + std::string(name) + " " +
                       std::to_string(extent));
    auto const id = detail::hash_of(name);
    std::size_t at = 0;
    while (at < size_ && ids_[at] != id) ++at;
    if (at == max_given_extents)
      throw user_error("extents are given of up to " + std::to_string(max_given_extents) +
                       " dimensions, mtf::max_given_extents");
    if (at == size_) {
      ids_[size_] = id;
      names_[size_++] = short_name(name);
    }
    extents_[at] = extent;
  }
  /// Those of others, too, in place of its own.
  constexpr void give(extents_value const& others) {
    for (std::size_t i = 0; i < others.size_; ++i) give(others.names_[i].view(), others.extents_[i]);
  }
  /// That of a dimension by its name's id; 0 if none was given. `kin`: that of which it is an alias.
  [[nodiscard]] constexpr std::int64_t find(std::uint64_t dim, std::uint64_t kin = 0) const {
    for (std::size_t i = 0; i < size_; ++i)
      if (ids_[i] == dim) return extents_[i];
    return kin != 0 ? find(kin) : 0;
  }
  /// How many are given.
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  /// The i-th name.
  [[nodiscard]] constexpr std::string_view name(std::size_t i) const { return names_[i].view(); }
  /// In the notation that `extents_from` reads: "batch:64;hidden:512".
  [[nodiscard]] std::string text() const {
    std::string s;
    for (std::size_t i = 0; i < size_; ++i)
      s += (i == 0 ? "" : ";") + std::string(names_[i].view()) + ":" + std::to_string(extents_[i]);
    return s;
  }

 private:
  std::array<std::uint64_t, max_given_extents> ids_{};
  std::array<std::int64_t, max_given_extents> extents_{};
  std::array<short_name, max_given_extents> names_{};
  std::size_t size_ = 0;
};

/// The extents that a text such as "batch:64;hidden:512" names. A name twice, or without a number from 1 on, is a
/// user_error.
constexpr extents_value extents_from(std::string_view text) {
  extents_value all;
  for (std::size_t i = 0; i < detail::entry_count(text); ++i) {
    auto const e = detail::entry_at(text, i);
    auto const name = detail::text_at(text, e.key), number = detail::text_at(text, e.value);
    std::int64_t extent = 0;
    for (char const c : number) {
      bool const digit = c >= '0' && c <= '9';
      extent = digit && extent <= max_extent / 10 ? 10 * extent + (c - '0') : max_extent + 1;
      if (extent > max_extent) break;
    }
    if (extent < 1 || extent > max_extent)
      throw user_error("a dimension has an extent from 1 to " + std::to_string(max_extent) +
                       ", such as 'batch:64'; found '" +
                       std::string(text.substr(e.key.begin, e.value.end - e.key.begin)) + "'");
    if (all.find(detail::hash_of(name)) != 0)
      throw user_error("'" + std::string(name) + "' has two extents in '" + std::string(text) + "'");
    all.give(name, extent);
  }
  return all;
}

/// How a program is to run: under layouts that are values, and with extents of dimensions that have none in their
/// types.
template <class Layouts>
struct sized_layouts {
  Layouts layouts;
  extents_value extents;
};
template <class Layouts>
sized_layouts(Layouts, extents_value) -> sized_layouts<Layouts>;

namespace detail {

/// What `run_under` is told: layouts, or also extents.
template <class Layouts>
constexpr auto const& layouts_in(Layouts const& given) {
  if constexpr (requires { given.extents; })
    return given.layouts;
  else
    return given;
}
template <class Table, class Layouts>
constexpr void give_to(Table& table, Layouts const& given) {
  for (auto const& layout : layouts_in(given)) table.add(layout);
  if constexpr (requires { given.extents; }) table.give(given.extents);
}
/// The same as a text.
template <class Layouts>
std::string text_of_given(Layouts const& given) {
  std::string text;
  for (auto const& layout : layouts_in(given))
    text += (text.empty() ? "[" + layout.mesh.text() + "], [" : ", [") + layout.text() + "]";
  if constexpr (requires { given.extents; }) text += ", [" + given.extents.text() + "]";
  return text;
}

/// Where a dimension's extent is from: its type; or, of dimensions without one there, what is given with a call, and
/// then what the backend was given.
struct extents_here {
  extents_value const& given;
  extents_value const* with_call = nullptr;

  /// 0 if nobody said.
  template <class D>
  [[nodiscard]] constexpr std::int64_t find() const {
    if constexpr (has_extent<D>) {
      return D::extent;
    } else {
      std::int64_t const n = with_call != nullptr ? with_call->find(D::id, D::kin) : 0;
      return n != 0 ? n : given.find(D::id, D::kin);
    }
  }
  template <class D>
  [[nodiscard]] constexpr std::int64_t of() const {
    auto const n = find<D>();
    if (n == 0) no_extent_of(D::name);
    return n;
  }
  [[noreturn]] static void no_extent_of(std::string_view name) {
    throw user_error("the extent of " + std::string(name) +
                     " is not in its type, and none was given: call backend.layouts().give({{\"" + std::string(name) +
                     "\", extent}}) first, or give it with the call");
  }
};
/// The compiler's own view. 1 stands for an extent that is a value: names, partial axes and the layout of what follows
/// mean something, its sizes do not.
struct extents_in_types {
  template <class D>
  [[nodiscard]] static constexpr std::int64_t of() {
    if constexpr (has_extent<D>)
      return D::extent;
    else
      return 1;
  }
};

}  // namespace detail

}  // namespace mtf
