#pragma once
// Mesh-TensorFlow's textual notation, parsed at compile time to layouts that say the same. Its axes are types of their
// own: a program that has them from a text has no others.
//
//   mtf::layout_of<"data:2;model:2", "batch:data;hidden:model", batch, hidden>
//
// "batch:pods+data" splits one dimension over two axes, outermost first. Separators are ';', ',' or spaces.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <mtf/core/dim.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>

namespace mtf {

/// An axis that a textual mesh names, letter by letter: nvcc 13.0 cannot write a type whose string was computed.
template <int Size, char... Name>
struct text_axis : detail::axis_base {
  static_assert(Size > 0, "mtf: a mesh axis has at least one processor");
  static constexpr char chars[sizeof...(Name) + 1]{Name..., '\0'};
  static constexpr std::string_view name{chars, sizeof...(Name)};
  static constexpr int size = Size;
  static constexpr link kind = link::any;
  static constexpr std::uint64_t id = detail::hash_of(std::string_view(chars, sizeof...(Name)));
};

/// A name in an error about a textual layout.
template <fixed_string Name>
struct name {};

namespace detail {

/// The text's pieces: names before a colon, and what is after it.
struct piece {
  std::size_t begin = 0, end = 0;
};

constexpr bool is_separator(char c) { return c == ';' || c == ',' || c == ' '; }

/// The I-th entry "key:value" of a text, as positions; beyond the last: empty.
struct entry {
  piece key, value;
};
constexpr std::size_t entry_count(std::string_view s) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.size(); ++i) n += !is_separator(s[i]) && (i == 0 || is_separator(s[i - 1])) ? 1U : 0U;
  return n;
}
constexpr entry entry_at(std::string_view s, std::size_t wanted) {
  std::size_t i = 0;
  while (true) {
    while (i < s.size() && is_separator(s[i])) ++i;
    std::size_t const begin = i;
    while (i < s.size() && !is_separator(s[i])) ++i;
    if (wanted == 0) {
      std::size_t colon = begin;
      while (colon < i && s[colon] != ':') ++colon;
      return {{begin, colon}, {colon < i ? colon + 1 : i, i}};
    }
    --wanted;
  }
}
/// 0 if it is not a number of ranks.
constexpr int number_in(std::string_view s, piece p) {
  std::int64_t n = 0;
  for (std::size_t i = p.begin; i < p.end; ++i) {
    if (s[i] < '0' || s[i] > '9') return 0;
    n = n * 10 + (s[i] - '0');
    if (n > max_ranks) return 0;
  }
  return static_cast<int>(n);
}
/// None after a colon with nothing behind it.
constexpr std::size_t part_count(std::string_view s, piece p) {
  if (p.begin == p.end && p.begin > 0 && s[p.begin - 1] == ':') return 0;
  std::size_t n = 1;
  for (std::size_t i = p.begin; i < p.end; ++i) n += s[i] == '+' ? 1U : 0U;
  return n;
}
constexpr piece part_at(std::string_view s, piece p, std::size_t wanted) {
  std::size_t begin = p.begin, i = p.begin;
  for (; i < p.end; ++i)
    if (s[i] == '+') {
      if (wanted-- == 0) return {begin, i};
      begin = i + 1;
    }
  return {begin, p.end};
}

/// The characters of a piece as a string of their own.
template <fixed_string Text, piece P, std::size_t... I>
consteval auto split_out(std::index_sequence<I...>) {
  constexpr char chars[sizeof...(I) + 1]{Text.chars[P.begin + I]..., '\0'};
  return fixed_string<sizeof...(I) + 1>(chars);
}
template <fixed_string Text, piece P>
inline constexpr auto text_of = split_out<Text, P>(std::make_index_sequence<P.end - P.begin>{});

template <fixed_string Text, std::size_t I>
struct axis_at {
  static constexpr entry e = entry_at(Text.view(), I);
  template <class>
  struct spelled;
  template <std::size_t... C>
  struct spelled<std::index_sequence<C...>> {
    using type = text_axis<number_in(Text.view(), e.value), Text.chars[e.key.begin + C]...>;
  };
  using type = typename spelled<std::make_index_sequence<e.key.end - e.key.begin>>::type;
};

template <fixed_string Text>
struct parsed_mesh {
  static constexpr std::size_t count = entry_count(Text.view());
  static constexpr std::size_t without_size() {
    for (std::size_t i = 0; i < count; ++i)
      if (number_in(Text.view(), entry_at(Text.view(), i).value) == 0) return i;
    return count;
  }
  static auto verdict() {
    if constexpr (constexpr auto at = without_size(); at < count) {
      constexpr entry e = entry_at(Text.view(), at);
      return error_axis_without_size<name<text_of<Text, piece{e.key.begin, e.value.end}>>>{};
    } else {
      return ok{};
    }
  }
  using checked = checked_t<decltype(verdict())>;
  // Member templates of classes, here and below: nvcc 13.0 cannot deduce functions' types that depend on a string.
  template <class>
  struct from;
  template <std::size_t... I>
  struct from<std::index_sequence<I...>> {
    using type = mesh<typename axis_at<Text, I>::type...>;
  };
  using type = typename from<std::make_index_sequence<checked::value ? count : 0>>::type;
};

/// The positions in a list of names; its size for one that is not there.
template <class... Named>
constexpr std::size_t named(std::string_view text, piece p) {
  std::array<std::string_view, sizeof...(Named) + 1> const names{Named::name..., std::string_view{}};
  for (std::size_t i = 0; i < sizeof...(Named); ++i)
    if (names[i] == text.substr(p.begin, p.end - p.begin)) return i;
  return sizeof...(Named);
}

template <class Mesh>
struct axes_in;
template <class... A>
struct axes_in<mesh<A...>> {
  static constexpr std::size_t count = sizeof...(A);
  static constexpr std::size_t find(std::string_view text, piece p) { return named<A...>(text, p); }
  template <fixed_string Name>
  using unknown = error_unknown_name<name<Name>, A...>;
};

/// The first entry of the rules whose dimension is not in the list, or of whose axes one is not in the mesh.
template <class Mesh, fixed_string Rules, class... D>
struct rules_verdict {
  static constexpr piece unknown_dim() {
    for (std::size_t i = 0; i < entry_count(Rules.view()); ++i)
      if (auto const e = entry_at(Rules.view(), i); named<D...>(Rules.view(), e.key) == sizeof...(D)) return e.key;
    return {1, 0};
  }
  static constexpr piece unknown_axis() {
    for (std::size_t i = 0; i < entry_count(Rules.view()); ++i) {
      auto const e = entry_at(Rules.view(), i);
      for (std::size_t k = 0; k < part_count(Rules.view(), e.value); ++k)
        if (auto const p = part_at(Rules.view(), e.value, k);
            axes_in<Mesh>::find(Rules.view(), p) == axes_in<Mesh>::count)
          return p;
    }
    return {1, 0};
  }
  static auto find() {
    constexpr piece d = unknown_dim(), a = unknown_axis();
    if constexpr (d.begin <= d.end)
      return error_unknown_name<name<text_of<Rules, d>>, D...>{};
    else if constexpr (a.begin <= a.end)
      return typename axes_in<Mesh>::template unknown<text_of<Rules, a>>{};
    else
      return ok{};
  }
  using type = decltype(find());
};

template <class Mesh, fixed_string Rules, class... D>
struct parsed_layout {
  using checked = checked_t<typename rules_verdict<Mesh, Rules, D...>::type>;
  template <std::size_t I, class>
  struct rule;
  template <std::size_t I, std::size_t... K>
  struct rule<I, std::index_sequence<K...>> {
    static constexpr entry e = entry_at(Rules.view(), I);
    using type =
        split<nth<named<D...>(Rules.view(), e.key), D...>,
              typename Mesh::template at<axes_in<Mesh>::find(Rules.view(), part_at(Rules.view(), e.value, K))>...>;
  };
  template <class>
  struct from;
  template <std::size_t... I>
  struct from<std::index_sequence<I...>> {
    using type = layout<
        Mesh,
        typename rule<I, std::make_index_sequence<part_count(Rules.view(), entry_at(Rules.view(), I).value)>>::type...>;
  };
  using type = typename from<std::make_index_sequence<checked::value ? entry_count(Rules.view()) : 0>>::type;
};

}  // namespace detail

/// The mesh that a text such as "data:2;model:4" names. Refused: an axis without a number.
template <fixed_string Text>
using mesh_of = typename detail::parsed_mesh<Text>::type;

/// The layout that a mesh and rules in text name; the dimensions that rules may name follow. Refused: a name that is
/// not among them, and what `layout` refuses.
template <fixed_string Mesh, fixed_string Rules, dimension... Dims>
using layout_of = typename detail::parsed_layout<mesh_of<Mesh>, Rules, Dims...>::type;

}  // namespace mtf
