#pragma once
// What rules derive for operands: constants of their types, or, where layouts are values, kept by the backend.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/layout_table.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/sharding/operand_rule.hpp>
#include <mtf/detail/tensor/arranged.hpp>

namespace mtf::detail {

// A rule is a class with
//   derive(mesh, sharding...)                    what an operation does on operands that lie so; or, if it says
//                                                `under_a_layout`,
//   derive_under(layout, mesh, sharding...)      the same, where a layout says how new dimensions are split: the first
//                                                operand's, or `layout_type` if the rule names one. Then it also has
//   target(layout, sharding...)                  how the result is to lie
//   adds                                         if it has one: a shape, some of whose dimensions no operand has.
//                                                derive then takes first what knows their extents, `extents
//                                                .of<D>()`; layouts have the same
//   pads                                         if it has one: a shape of dimensions that are as long as follows from
//                                                the operands, and padded as the layout says (new_dims.hpp)
//   wrong(sharding...)                           if it has one: what is wrong with the operands (see wrong_with)
//   takes_pads                                   if it has one: the operation is right where dimensions have pads,
//                                                which are 0 in operands and gradients; what it writes there becomes 0

template <class Rule>
inline constexpr bool derives_under_a_layout = requires { Rule::under_a_layout; };

/// Whether an operation is right where dimensions have pads: its rule says so.
template <class Rule>
inline constexpr bool takes_pads = requires { Rule::takes_pads; };

template <class Rule>
inline constexpr bool adds_dims = requires { typename Rule::adds; };

/// A layout that is a type, as rules ask it.
template <class Layout>
struct typed_layout : extents_in_types {
  static constexpr axis_list split_of(std::uint64_t dim, std::uint64_t kin = 0) { return Layout::split_of(dim, kin); }
};
/// One that is a value, with the extents that the backend was given.
struct layout_here : extents_here {
  layout_value const& layout;
  constexpr layout_here(layout_value const& l, extents_value const& all) : extents_here{all}, layout(l) {}
  [[nodiscard]] constexpr axis_list split_of(std::uint64_t dim, std::uint64_t kin = 0) const {
    return layout.split_of(dim, kin);
  }
};
template <class Rule, class Layout>
struct layout_of_rule {
  using type = Layout;
};
template <class Rule, class Layout>
  requires requires { typename Rule::layout_type; }
struct layout_of_rule<Rule, Layout> {
  using type = typename Rule::layout_type;
};

/// What a rule derives that asks no layout.
template <class Rule, class Extents>
constexpr auto derived_with([[maybe_unused]] Extents const& extents, mesh_shape const& mesh, auto const&... in) {
  if constexpr (adds_dims<Rule>)
    return Rule::derive(extents, mesh, in...);
  else
    return Rule::derive(mesh, in...);
}
template <class Rule, class... X>
constexpr bool says_derive() {
  if constexpr (adds_dims<Rule>)
    return requires { Rule::derive(extents_in_types{}, first_t<X...>::mesh, X::spec...).out; };
  else
    return requires { Rule::derive(first_t<X...>::mesh, X::spec...).out; };
}

/// Whether a rule says what is asked of it, for operands of these descriptions.
template <class Rule, class... X>
constexpr bool is_rule_for() {
  using layout = typed_layout<typename layout_of_rule<Rule, typename first_t<X...>::layout_type>::type>;
  if constexpr (!derives_under_a_layout<Rule>) {
    constexpr bool derives = says_derive<Rule, X...>();
    static_assert(derives,
                  "mtf: the rule of an operation says `derive(mesh_shape const&, sharding const&...)`, for as many "
                  "shardings as there are operands: its work, with the result's sharding `out`; or `under_a_layout`");
    return derives;
  } else {
    constexpr bool targets = requires { Rule::target(layout{}, X::spec...).ndim; };
    constexpr bool derives = requires { Rule::derive_under(layout{}, first_t<X...>::mesh, X::spec...).out; };
    static_assert(
        targets,
        "mtf: the rule of an operation that derives `under_a_layout` says `target(layout, sharding const&...)`: "
        "how the result is to lie");
    static_assert(!targets || derives,
                  "mtf: the rule of an operation that derives `under_a_layout` says `derive_under(layout, mesh_shape "
                  "const&, sharding const&...)`: its work, with the result's sharding `out`");
    return targets && derives;
  }
}

struct no_work {
  sharding out;
};
template <class Rule, class... X>
constexpr auto derived_from_types() {
  if constexpr (!is_rule_for<Rule, X...>())
    return no_work{};
  else if constexpr (derives_under_a_layout<Rule>)
    return Rule::derive_under(typed_layout<typename layout_of_rule<Rule, typename first_t<X...>::layout_type>::type>{},
                              first_t<X...>::mesh, X::spec...);
  else
    return derived_with<Rule>(extents_in_types{}, first_t<X...>::mesh, X::spec...);
}
/// What a rule derives for operands of these types: one static constant for each. Where their layouts are values only
/// its type, the result's dimensions and the axes over which that is partial mean something.
template <class Rule, class... X>
inline constexpr auto work_in_types = derived_from_types<Rule, X...>();

/// The work for operands whose layouts are types.
template <class Rule, class... X>
constexpr auto const& work_of() {
  static_assert(!by_value<X...>, "mtf: what is derived of layouts that are values is derived_for(operands)");
  return work_in_types<Rule, X...>;
}

// Layouts as values
// -----------------------------------------------------------------------------------------------------

/// Its address identifies a rule and its number of operands: layer_norm and rms_norm have one rule, for 3 operands and
/// for 2.
template <class Rule, class Work, std::size_t N>
inline constexpr char address_of_rule = 0;

template <class Work>
constexpr std::size_t further_results() {
  if constexpr (requires(Work const& w) { w.further.size(); })
    return std::tuple_size_v<decltype(Work::further)>;
  else
    return 0;
}

/// What a rule derived, and how the result, or each of several, is arranged.
template <class Work, std::size_t N>
class derived_work final : public backend::derivation {
 public:
  std::array<arrangement const*, N> of;  // the operands
  Work work;
  arrangement const* out = nullptr;
  std::array<arrangement const*, further_results<Work>()> further{};

  constexpr derived_work(void const* by, std::array<arrangement const*, N> const& operands, Work const& derived)
      : derivation(by, sizeof(derived_work)), of(operands), work(derived) {}
  constexpr void destroy() override { delete this; }
  /// By `arranged(sharding)`, for each result.
  template <class Arranged>
  constexpr void arrange(Arranged const& arranged) {
    out = arranged(work.out);
    if constexpr (further_results<Work>() > 0)
      for (std::size_t i = 0; i < further.size(); ++i) further[i] = arranged(work.further[i]);
  }
};

template <std::size_t I, class Further>
constexpr layout_value const& layout_in(layout_table& table, layout_value const&, any_layout<I, Further> const*) {
  return table[I];
}
/// Of a layout without splits.
template <class Layout>
constexpr layout_value const& layout_in(layout_table& table, layout_value const& beside, Layout const*) {
  return table.keep({.mesh = beside.mesh});
}

/// The layout by which dimensions that a rule adds are split: the one that the rule names, or the first operand's.
template <class Rule>
constexpr layout_value const& layout_for(layout_table& table, layout_value const& first) {
  using named = typename layout_of_rule<Rule, void>::type;
  if constexpr (std::is_void_v<named>)
    return first;
  else
    return layout_in(table, first, static_cast<named const*>(nullptr));
}
/// Whether the dimensions that a result has beyond the first operand's are as long as the backend is given now.
template <class... D>
constexpr bool are_as_given(shape<D...> const*, layout_table& table, sharding const& first, sharding const& out) {
  [[maybe_unused]] auto const is = [&](std::uint64_t dim, std::uint64_t kin) {
    auto const& is = out[out.find(dim)];
    return first.has(dim) ||
           (table.extents().find(dim, kin) == is.logical() && table.extents().stored(dim, kin) == is.extent);
  };
  return ((has_extent<D> || is(D::id, D::kin)) && ...);
}
/// Whether dimensions that are as long as follows from the operands have the pads that are given now.
template <class... D>
constexpr bool are_padded_as_given(shape<D...> const*, layout_table& table, sharding const& out) {
  auto const is = [&](std::uint64_t dim, std::uint64_t kin) {
    auto const& d = out[out.find(dim)];
    return table.extents().padded(dim, kin, d.logical()) == d.extent;
  };
  return ((has_extent<D> || is(D::id, D::kin)) && ...);
}
/// Whether what was derived still holds: the layout that the rule names, and the extents of new dimensions, may be
/// others by now (layout_table::clear, give).
template <class Rule>
constexpr bool holds(layout_table& table, arrangement const& first, arrangement const& out) {
  if constexpr (adds_dims<Rule>)
    if (!are_as_given(static_cast<typename Rule::adds const*>(nullptr), table, first.spec, out.spec)) return false;
  if constexpr (requires { typename Rule::pads; })
    if (!are_padded_as_given(static_cast<typename Rule::pads const*>(nullptr), table, out.spec)) return false;
  if constexpr (derives_under_a_layout<Rule>)
    return out.layout == &layout_for<Rule>(table, *first.layout);
  else
    return true;
}

template <class Rule, std::size_t N>
constexpr void check_operands(std::array<arrangement const*, N> const& of, char const* by) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    if (finding const f = wrong_with<Rule>(of[I]->spec...); f.what != finding::kind::none)
      layouts_are_wrong(f, {of[I]...}, by);
  }(std::make_index_sequence<N>{});
}

/// For an operation that does not take them: a user_error.
constexpr void refuse_pads(sharding const& s, char const* by) {
  if (!s.padded) return;
  for (int d = 0; d < s.ndim; ++d)
    if (s[d].pad != 0) layout_is_wrong(MTF_SAYS_PADDED, named(s[d]), by);
}

/// Runs once for each combination of operands' shardings: not worth the time that a compiler takes to make it fast.
template <class Rule, class Work, std::size_t N>
[[gnu::cold, gnu::noinline]] constexpr derived_work<Work, N> const& derive_by_value(
    layout_table& table, std::array<arrangement const*, N> const& of, std::size_t hash, char const* by) {
  check_operands<Rule>(of, by);
  if constexpr (!takes_pads<Rule>)
    for (auto const* operand : of) refuse_pads(operand->spec, by);
  auto const& layout = *of[0]->layout;
  auto const& mesh = layout.mesh.shape;
  auto* const fresh = [&]<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (derives_under_a_layout<Rule>) {
      auto const& under = layout_for<Rule>(table, layout);
      layout_here const here(under, table.extents());
      checked_sharding(Rule::target(here, of[I]->spec...), under, by);
      auto* const made = new derived_work<Work, N>(&address_of_rule<Rule, Work, N>, of,
                                                   Rule::derive_under(here, mesh, of[I]->spec...));
      made->arrange([&](sharding const& result) { return &table.arranged(result, under); });
      return made;
    } else {
      auto* const made = new derived_work<Work, N>(
          &address_of_rule<Rule, Work, N>, of, derived_with<Rule>(extents_here{table.extents()}, mesh, of[I]->spec...));
      made->arrange([&](sharding const& result) { return &arranged_result(table, result, of); });
      return made;
    }
  }(std::make_index_sequence<N>{});
  if (std::is_constant_evaluated()) {
    fresh->next = *of[0]->derived;
    *of[0]->derived = fresh;
  } else {
    fresh->hash = hash;
    table.keep_work(fresh);
  }
  return *fresh;
}

/// The work for operands of these shardings, derived when first asked for. `by`: the operation, for errors. What the
/// compiler would refuse of their layouts is a user_error.
template <class Rule, class Work, std::size_t N>
constexpr derived_work<Work, N> const& derived_at(layout_table& table, std::array<arrangement const*, N> const& of,
                                                  char const* by) {
  auto const is_it = [&](backend::derivation const& d) {
    if (d.rule != &address_of_rule<Rule, Work, N>) return false;
    auto const& found = static_cast<derived_work<Work, N> const&>(d);
    return found.of == of && holds<Rule>(table, *of[0], *found.out);
  };
  std::size_t hash = 0;
  if (std::is_constant_evaluated()) {
    for (auto const* d = *of[0]->derived; d != nullptr; d = d->next)
      if (is_it(*d)) return static_cast<derived_work<Work, N> const&>(*d);
  } else {
    hash = backend::mixed(0, reinterpret_cast<std::uintptr_t>(&address_of_rule<Rule, Work, N>));
    for (auto const* operand : of) hash = backend::mixed(hash, reinterpret_cast<std::uintptr_t>(operand));
    if (auto const* const d = table.find_work(hash, is_it)) return static_cast<derived_work<Work, N> const&>(*d);
  }
  return derive_by_value<Rule, Work>(table, of, hash, by);
}

template <class X, class... Rest>
constexpr X const& first_operand(X const& x, Rest const&...) {
  return x;
}
template <class... X>
constexpr layout_table& table_of(X const&... x) {
  return first_operand(x...).backend().layouts();
}
/// The work for these operands.
template <class Rule, class... X>
constexpr auto const& derived_for(char const* by, X const&... x) {
  using work = std::remove_cvref_t<decltype(work_in_types<Rule, typename X::description...>)>;
  return derived_at<Rule, work>(table_of(x...), std::array<arrangement const*, sizeof...(X)>{&x.where()...}, by);
}

/// What a call asks of its operands' layouts, as a rule that derives nothing.
template <class Of>
struct checked_rule {
  static constexpr bool takes_pads = true;
  static constexpr finding wrong(auto const&... in) { return wrong_with<Of>(in...); }
  static constexpr no_work derive(mesh_shape const&, auto const&...) { return {}; }
};

}  // namespace mtf::detail
