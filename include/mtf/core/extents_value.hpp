#pragma once
// Extents that are values: how long dimensions are whose types do not say it, by name.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <mtf/core/error.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/notation.hpp>

namespace mtf {

/// The extents of some dimensions, by name. `extents_from` reads them from a text. (0 is none of a tensor's: it is a
/// number of layers, mtf::stack.)
class extents_value {
 public:
  constexpr extents_value() = default;
  constexpr extents_value(std::initializer_list<std::pair<std::string_view, std::int64_t>> all) {
    for (auto const& one : all) give(one.first, one.second);
  }
  bool operator==(extents_value const&) const = default;

  /// Sets one, in place of a former one of that name. Below 0, or of more than max_given_extents dimensions: a
  /// user_error.
  /// `pad_to`: stored is the next multiple of this (see dim).
  constexpr void give(std::string_view name, std::int64_t extent, std::int64_t pad_to = 1) {
    if (extent < 0) too_small(name, extent);
    if (pad_to < 1 || pad_to > max_extent)
      throw user_error(std::string(name) + " is padded to a multiple of at least 1; here: " + std::to_string(pad_to));
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
    multiples_[at] = pad_to;
  }
  /// That of one dimension alone, if it was given.
  [[nodiscard]] constexpr extents_value only(std::string_view name) const {
    extents_value one;
    for (std::size_t i = 0; i < size_; ++i)
      if (ids_[i] == detail::hash_of(name)) one.give(name, extents_[i], multiples_[i]);
    return one;
  }
  /// Those of others, too, in place of its own.
  constexpr void give(extents_value const& others) {
    for (std::size_t i = 0; i < others.size_; ++i)
      give(others.names_[i].view(), others.extents_[i], others.multiples_[i]);
  }
  /// That of a dimension by its name's id, if it was given. `kin`: that of which it is an alias.
  [[nodiscard]] constexpr std::optional<std::int64_t> find(std::uint64_t dim, std::uint64_t kin = 0) const {
    for (std::size_t i = 0; i < size_; ++i)
      if (ids_[i] == dim) return extents_[i];
    return kin != 0 ? find(kin) : std::nullopt;
  }
  /// The same with pads.
  [[nodiscard]] constexpr std::optional<std::int64_t> stored(std::uint64_t dim, std::uint64_t kin = 0) const {
    for (std::size_t i = 0; i < size_; ++i)
      if (ids_[i] == dim) return (extents_[i] + multiples_[i] - 1) / multiples_[i] * multiples_[i];
    return kin != 0 ? stored(kin) : std::nullopt;
  }
  /// As long as n positions of a dimension are stored, with its pads if it was given with some.
  [[nodiscard]] constexpr std::int64_t padded(std::uint64_t dim, std::uint64_t kin, std::int64_t n) const {
    for (std::size_t i = 0; i < size_; ++i)
      if (ids_[i] == dim) return (n + multiples_[i] - 1) / multiples_[i] * multiples_[i];
    return kin != 0 ? padded(kin, 0, n) : n;
  }
  /// The same by its name.
  [[nodiscard]] constexpr std::optional<std::int64_t> find(std::string_view name) const {
    return find(detail::hash_of(name));
  }
  /// Refuses an extent, as a user_error.
  [[noreturn]] static void too_small(std::string_view name, std::int64_t extent) {
    throw user_error("a dimension has an extent of at least 1; here: " + std::string(name) + " " +
                     std::to_string(extent));
  }
  /// How many are given.
  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  /// The i-th name.
  [[nodiscard]] constexpr std::string_view name(std::size_t i) const { return names_[i].view(); }
  /// In the notation that `extents_from` reads: "batch:64;vocab:50257/8".
  [[nodiscard]] std::string text() const {
    std::string s;
    for (std::size_t i = 0; i < size_; ++i)
      s += (i == 0 ? "" : ";") + std::string(names_[i].view()) + ":" + std::to_string(extents_[i]) +
           (multiples_[i] == 1 ? "" : "/" + std::to_string(multiples_[i]));
    return s;
  }

 private:
  std::array<std::uint64_t, max_given_extents> ids_{};
  std::array<std::int64_t, max_given_extents> extents_{}, multiples_{};
  std::array<short_name, max_given_extents> names_{};
  std::size_t size_ = 0;
};

/// The extents that a text such as "batch:64;vocab:50257/8" names; behind a slash stands the number of which what is
/// stored is a multiple. A name twice, or without a number from 0 on, is a
/// user_error.
constexpr extents_value extents_from(std::string_view text) {
  extents_value all;
  for (std::size_t i = 0; i < detail::entry_count(text); ++i) {
    auto const e = detail::entry_at(text, i);
    auto const name = detail::text_at(text, e.key), number = detail::text_at(text, e.value);
    auto const read = [](std::string_view digits) {
      std::int64_t n = digits.empty() ? max_extent + 1 : 0;
      for (char const c : digits) {
        bool const digit = c >= '0' && c <= '9';
        n = digit && n <= max_extent / 10 ? 10 * n + (c - '0') : max_extent + 1;
        if (n > max_extent) break;
      }
      return n;
    };
    auto const slash = number.find('/');
    auto const extent = read(number.substr(0, slash));
    auto const multiple = slash == std::string_view::npos ? 1 : read(number.substr(slash + 1));
    if (extent > max_extent || multiple > max_extent || multiple < 1)
      throw user_error("a dimension has an extent from 1 to " + std::to_string(max_extent) +
                       ", such as 'batch:64'; found '" +
                       std::string(text.substr(e.key.begin, e.value.end - e.key.begin)) + "'");
    if (all.find(name)) throw user_error("'" + std::string(name) + "' has two extents in '" + std::string(text) + "'");
    all.give(name, extent, multiple);
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

/// What a function says of layouts, for so many ranks if it takes their number.
template <class Layouts>
constexpr auto given_for(Layouts const& layouts, [[maybe_unused]] int ranks) {
  if constexpr (std::is_invocable_v<Layouts const&, int>)
    return layouts(ranks);
  else
    return layouts();
}
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

  /// If anybody said. Below 1: a user_error.
  template <class D>
  [[nodiscard]] constexpr std::optional<std::int64_t> find() const {
    if constexpr (has_extent<D>) {
      return D::extent;
    } else {
      auto n = with_call != nullptr ? with_call->find(D::id, D::kin) : std::nullopt;
      if (!n) n = given.find(D::id, D::kin);
      if (n && *n < 1) extents_value::too_small(D::name, *n);
      return n;
    }
  }
  template <class D>
  [[nodiscard]] constexpr std::int64_t of() const {
    auto const n = find<D>();
    if (!n) no_extent_of(D::name);
    return *n;
  }
  /// With pads.
  template <class D>
  [[nodiscard]] constexpr std::int64_t stored() const {
    if constexpr (has_extent<D>) {
      return D::stored;
    } else {
      auto n = with_call != nullptr ? with_call->stored(D::id, D::kin) : std::nullopt;
      if (!n) n = given.stored(D::id, D::kin);
      return n ? *n : of<D>();
    }
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
  template <class D>
  [[nodiscard]] static constexpr std::int64_t stored() {
    if constexpr (has_extent<D>)
      return D::stored;
    else
      return 1;
  }
};

}  // namespace detail

}  // namespace mtf
