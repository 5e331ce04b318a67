#pragma once
// Layouts as values: read from a text when the program runs, and tried without compiling again. They say the same as
// `mesh` and `layout`, which are types.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <mtf/core/dim.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/notation.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/shown_text.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>

namespace mtf {

/// The name of a dimension or an axis, of up to 31 characters.
class short_name {
 public:
  constexpr short_name() = default;
  /// A longer one, and one with characters that a terminal does not show, is a user_error.
  constexpr explicit short_name(std::string_view text) {
    for (auto rest = text; !rest.empty(); rest.remove_prefix(shown_bytes(rest)))
      if (shown_bytes(rest) == 0)
        throw user_error("a name was expected, of characters that a terminal shows; found '" + std::string(text) + "'");
    if (text.size() >= chars_.size())
      throw user_error("a layout's names have up to 31 characters, but it says '" + std::string(text) + "'");
    for (std::size_t i = 0; i < text.size(); ++i) chars_[i] = text[i];
    size_ = static_cast<unsigned char>(text.size());
  }
  /// The text.
  [[nodiscard]] constexpr std::string_view view() const { return {chars_.data(), size_}; }
  bool operator==(short_name const&) const = default;

 private:
  std::array<char, 32> chars_{};
  unsigned char size_ = 0;
};

/// A mesh with the names of its axes.
struct mesh_value {
  mesh_shape shape;
  std::array<short_name, max_axes> names{};

  /// The position of an axis, -1 if the mesh lacks it.
  [[nodiscard]] constexpr int find(std::string_view axis) const {
    for (int a = 0; a < shape.ndim; ++a)
      if (names[static_cast<std::size_t>(a)].view() == axis) return a;
    return -1;
  }
  /// Outermost first; empty beyond the mesh's own. They live as long as the mesh does.
  [[nodiscard]] constexpr std::array<std::string_view, max_axes> axis_names() const {
    std::array<std::string_view, max_axes> all{};
    for (std::size_t a = 0; a < all.size(); ++a) all[a] = names[a].view();
    return all;
  }
  /// "data:2 model:4"
  [[nodiscard]] std::string text() const {
    std::string s;
    for (std::size_t a = 0; a < static_cast<std::size_t>(shape.ndim); ++a)
      s += (a == 0 ? "" : " ") + std::string(names[a].view()) + ":" + std::to_string(shape.extent[a]);
    return s;
  }
  bool operator==(mesh_value const&) const = default;
};

/// One rule of a layout: the axes that split a dimension, outermost first.
struct layout_rule {
  std::uint64_t dim = 0;  // the name's id
  short_name name;
  axis_list axes;
  bool operator==(layout_rule const&) const = default;
};

/// What a `layout` says, as a value. `layout_from` reads one from a text, `value_of` makes one from a type.
struct layout_value {
  mesh_value mesh;
  int size = 0;
  std::array<layout_rule, max_rules> rules{};

  /// The axes that split a dimension, by its name's id; none if it is whole. `kin`: that of which it is an alias.
  [[nodiscard]] constexpr axis_list split_of(std::uint64_t dim, std::uint64_t kin = 0) const {
    for (int i = 0; i < size; ++i)
      if (auto const& rule = rules[static_cast<std::size_t>(i)]; rule.dim == dim) return rule.axes;
    return kin != 0 ? split_of(kin) : axis_list{};
  }
  /// Whether it has a rule for a dimension.
  [[nodiscard]] constexpr bool names(std::uint64_t dim) const {
    for (int i = 0; i < size; ++i)
      if (rules[static_cast<std::size_t>(i)].dim == dim) return true;
    return false;
  }
  /// Adds a rule. More than max_rules of them are a user_error.
  constexpr void split(std::string_view dim, axis_list const& axes) {
    if (size == max_rules)
      throw user_error("a layout has more than " + std::to_string(max_rules) + " rules, mtf::max_rules");
    rules[static_cast<std::size_t>(size++)] = {detail::hash_of(dim), short_name(dim), axes};
  }
  /// The rules in the notation that `layout_from` reads: "batch:data;hidden:model".
  [[nodiscard]] std::string text() const {
    std::string s;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      s += (i == 0 ? "" : ";") + std::string(rules[i].name.view());
      if (rules[i].axes.size == 0) s += ":";
      for (int k = 0; k < rules[i].axes.size; ++k)
        s += (k == 0 ? ":" : "+") + std::string(mesh.names[static_cast<std::size_t>(rules[i].axes[k])].view());
    }
    return s;
  }
  bool operator==(layout_value const&) const = default;
};

namespace detail {

/// A sentence of sentence.hpp, and the names that it is about, as the text of a user_error.
inline std::string refusal(char const* sentence, std::string const& here) {
  return std::string(sentence).substr(std::string_view("mtf: ").size()) + "; here: " + here;
}
/// "batch 6 over 4 ranks, which divide 4 and 8"
inline std::string not_divisible_text(std::string_view dim, std::int64_t extent, std::int64_t ranks) {
  auto const below = extent / ranks * ranks;
  return std::string(dim) + " " + std::to_string(extent) + " over " + std::to_string(ranks) + " ranks, which divide " +
         (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(below + ranks);
}
constexpr std::string_view text_at(std::string_view text, piece p) { return text.substr(p.begin, p.end - p.begin); }

}  // namespace detail

/// The mesh that a text such as "data:2;model:4" names, in the notation of `mesh_of`. A user_error, in the words
/// of sentence.hpp: an axis twice, or without a number of ranks; more than max_axes of them, or max_ranks ranks.
constexpr mesh_value mesh_from(std::string_view text) {
  mesh_value m;
  for (std::size_t i = 0; i < detail::entry_count(text); ++i) {
    auto const e = detail::entry_at(text, i);
    auto const name = detail::text_at(text, e.key);
    int const ranks = detail::number_in(text, e.value);
    if (ranks == 0) throw user_error(detail::refusal(MTF_TELLS_AXIS_WITHOUT_SIZE, std::string(name)));
    if (m.find(name) >= 0) throw user_error(detail::refusal(MTF_SAYS_AXIS_TWICE, std::string(name)));
    if (m.shape.ndim == max_axes)
      throw user_error("a mesh has at most " + std::to_string(max_axes) + " axes, but '" + std::string(text) +
                       "' has more");
    int const before = m.shape.size();
    auto const at = static_cast<std::size_t>(m.shape.ndim++);
    if (ranks > max_ranks / before)
      throw user_error("a mesh has at most " + std::to_string(max_ranks) + " ranks, but '" + std::string(text) +
                       "' has more");
    m.shape.extent[at] = ranks;
    m.names[at] = short_name(name);
  }
  return m;
}

/// The layout that rules such as "batch:data;hidden:model" name, in the notation of `layout_of`. A user_error, in the
/// words of sentence.hpp: an axis that the mesh lacks, an axis twice in a rule, two rules for one dimension. Whether a
/// tensor can have it is asked where the tensor is made.
constexpr layout_value layout_from(mesh_value const& mesh, std::string_view rules) {
  layout_value l{.mesh = mesh};
  for (std::size_t i = 0; i < detail::entry_count(rules); ++i) {
    auto const e = detail::entry_at(rules, i);
    auto const dim = detail::text_at(rules, e.key);
    axis_list axes;
    for (std::size_t k = 0; k < detail::part_count(rules, e.value); ++k) {
      auto const name = detail::text_at(rules, detail::part_at(rules, e.value, k));
      int const axis = mesh.find(name);
      if (axis < 0)
        throw user_error(detail::refusal(MTF_SAYS_AXIS_NOT_IN_MESH,
                                         std::string(dim) + ", " + std::string(name) + ", [" + mesh.text() + "]"));
      if (((axes.mask() >> static_cast<unsigned>(axis)) & 1U) != 0)
        throw user_error(detail::refusal(MTF_SAYS_AXIS_TWICE, std::string(name)));
      axes.push(axis);
    }
    if (l.names(detail::hash_of(dim))) throw user_error(detail::refusal(MTF_TELLS_TWO_RULES, std::string(dim)));
    l.split(dim, axes);
  }
  return l;
}

/// The same for a program of these dimensions, as in `layout_of`: a rule for another name, and ranks that do not divide
/// an extent that is in a type, are a user_error as well.
template <dimension... Dims>
  requires(sizeof...(Dims) > 0)
constexpr layout_value layout_from(mesh_value const& mesh, std::string_view rules) {
  layout_value const l = layout_from(mesh, rules);
  for (std::size_t i = 0; i < static_cast<std::size_t>(l.size); ++i) {
    auto const& rule = l.rules[i];
    if (!((Dims::id == rule.dim) || ...)) {
      std::string known;
      ((known += ", " + std::string(Dims::name)), ...);
      throw user_error(detail::refusal(MTF_TELLS_UNKNOWN_NAME, std::string(rule.name.view()) + known));
    }
    int const ranks = mesh.shape.size(rule.axes.mask());
    std::int64_t extent = ranks;
    ((extent = Dims::id == rule.dim && detail::has_extent<Dims> ? detail::stored_in_type<Dims>() : extent), ...);
    if (extent % ranks != 0)
      throw user_error(
          detail::refusal(MTF_TELLS_NOT_DIVISIBLE, detail::not_divisible_text(rule.name.view(), extent, ranks)));
  }
  return l;
}

namespace detail {

template <class... A>
constexpr mesh_value mesh_as_value(mesh<A...> const*) {
  return {mesh<A...>::shape(), {short_name(A::name)...}};
}
template <class Mesh, class... Split>
constexpr layout_value layout_as_value(layout<Mesh, Split...> const*) {
  layout_value l{.mesh = mesh_as_value(static_cast<Mesh const*>(nullptr))};
  (l.split(Split::dim_type::name, Split::template axes<Mesh>()), ...);
  return l;
}

}  // namespace detail

/// A layout that is a type, as a value.
template <layout_type Layout>
inline constexpr layout_value value_of = detail::layout_as_value(static_cast<Layout const*>(nullptr));

namespace detail {
/// Of `any_layout`, whose mesh the compiler does not know.
struct any_mesh : mesh<> {};
template <>
inline constexpr bool is_mesh<any_mesh> = true;
struct as_given;
}  // namespace detail

/// In place of a layout: the I-th of those that the backend is given when the program runs (`backend.layouts()`). A
/// program on `place<T, any_layout<>, Backend>` is compiled once and runs under any layout. To the compiler its tensors
/// are whole: wrong names, extents and element types are refused as ever; what a layout makes wrong is a user_error in
/// the compiler's words, or, where these speak of types, in others. (`Further` is the library's own: how an optimizer's
/// state is split besides.)
template <std::size_t I = 0, class Further = detail::as_given>
struct any_layout {
  using checked = ok;
  /// Known when the program runs.
  using mesh_type = detail::any_mesh;
  static constexpr std::array<detail::rule, 0> rules{};
  /// None: the compiler does not know.
  static constexpr axis_list split_of(std::uint64_t, std::uint64_t = 0) { return {}; }
};

namespace detail {
template <class L>
inline constexpr bool is_any_layout = false;
template <std::size_t I, class Further>
inline constexpr bool is_any_layout<any_layout<I, Further>> = true;
/// Whether one of several tensors has a layout that is a value.
template <class... X>
inline constexpr bool by_value = (is_any_layout<typename X::layout_type> || ...);
}  // namespace detail

}  // namespace mtf
