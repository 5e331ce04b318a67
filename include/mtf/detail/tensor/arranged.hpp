#pragma once
// Shardings of tensors whose layout is a value: what `tensor_verdict` and `result_layout` are for types.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <mtf/backend/layout_table.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>

namespace mtf::detail {

using backend::arrangement;
using backend::layout_table;

/// "batch 64", "vocab 50257 of 50264"
inline std::string named(dim_state const& d) {
  return std::string(d.name) + " " + std::to_string(d.logical()) +
         (d.pad == 0 ? "" : " of " + std::to_string(d.extent));
}
/// "data 2"
inline std::string named(mesh_value const& mesh, int axis) {
  auto const a = static_cast<std::size_t>(axis);
  return std::string(mesh.names[a].view()) + " " + std::to_string(mesh.shape.extent[a]);
}

/// Not constexpr, here and below: a plan of such a program ends here. `by`: the operation that refuses.
[[noreturn]] inline void layout_is_wrong(char const* sentence, std::string const& here, char const* by) {
  throw user_error(refusal(sentence, here) + (by != nullptr ? "; by " + std::string(by) : ""));
}
/// What a rule found wrong with these operands.
[[noreturn]] inline void layouts_are_wrong(finding const& f, std::initializer_list<arrangement const*> operands,
                                           char const* by) {
  auto const &i = **(operands.begin() + f.i), &j = **(operands.begin() + f.j);
  auto const& mesh = i.layout->mesh;
  auto const &di = i.spec[f.di], &dj = j.spec[f.dj];
  switch (f.what) {
    case finding::kind::splits:
      layout_is_wrong(MTF_TELLS_SPLIT_DIFFERENTLY,
                      named(di) + ", [" + i.layout->text() + "], [" + j.layout->text() + "]", by);
    case finding::kind::extents:
      layout_is_wrong(MTF_SAYS_TWO_EXTENTS, named(di) + ", " + named(dj), by);
    case finding::kind::two_dims_on_axis:
      layout_is_wrong(MTF_SAYS_TWO_DIMS_ON_ONE_AXIS, named(di) + ", " + named(dj) + ", " + named(mesh, f.axis), by);
    case finding::kind::split_where_partial:
      layout_is_wrong(MTF_SAYS_SPLIT_WHERE_PARTIAL, named(di) + ", " + named(mesh, f.axis), by);
    default:
      throw user_error("an operation does not take its operands");  // the compiler refuses the other kinds
  }
}

/// The sharding of a tensor under a layout; what `tensor_verdict` refuses is a user_error.
constexpr sharding const& checked_sharding(sharding const& s, layout_value const& layout, char const* by = nullptr) {
  mesh_shape const& mesh = layout.mesh.shape;
  if (finding const f = check_sharding(s); f.what != finding::kind::none) {
    arrangement const wrong{s, &layout};
    layouts_are_wrong(f, {&wrong}, by);
  }
  for (int d = 0; d < s.ndim; ++d)
    if (std::int64_t const ranks = mesh.size(s[d].split.mask()), extent = s[d].extent; extent % ranks != 0)
      layout_is_wrong(MTF_TELLS_NOT_DIVISIBLE, not_divisible_text(s[d].name, extent, ranks), by);
  return s;
}

/// Tensors that are taken together without a rule, as a parameter and its gradient, are equally long. Where extents are
/// in types they are if the types say so; else two that differ are a user_error. `name`: which of a structure's.
template <class Shape, class Name>
constexpr void check_extents([[maybe_unused]] char const* by, [[maybe_unused]] Name const& name,
                             [[maybe_unused]] sharding const& x, [[maybe_unused]] sharding const& y) {
  if constexpr (!Shape::has_extents)
    for (int d = 0; d < x.ndim; ++d)
      if (x[d].extent != y[d].extent || x[d].pad != y[d].pad)
        layout_is_wrong(MTF_SAYS_TWO_EXTENTS, named(x[d]) + ", " + named(y[d]),
                        (std::string(by) + " of " + std::string(name.text())).c_str());
}

/// The arrangement of a shape under the layout; what `tensor_verdict` refuses is a user_error.
/// `with_call`: extents that come before those of the table.
template <class Shape>
constexpr arrangement const& arranged_under(layout_table& table, layout_value const& layout,
                                            extents_value const* with_call = nullptr) {
  auto const split_of = [&](std::uint64_t dim, std::uint64_t kin) { return layout.split_of(dim, kin); };
  auto const s =
      sharding_from(static_cast<Shape const*>(nullptr), split_of, 0, extents_here{table.extents(), with_call});
  return table.arranged(checked_sharding(s, layout), layout);
}

/// Does the layout split each dimension of `s` as `s` does?
constexpr bool layout_agrees(layout_value const& layout, sharding const& s) {
  for (int d = 0; d < s.ndim; ++d)
    if (!(layout.split_of(s[d].id, s[d].kin) == s[d].split)) return false;
  return true;
}
/// The arrangement of a result: under the first of the operands' layouts that agrees with it, or under a new one with
/// its splits and no others. The same rule as `result_layout`.
template <std::size_t N>
constexpr arrangement const& arranged_result(layout_table& table, sharding const& out,
                                             std::array<arrangement const*, N> const& operands) {
  for (auto const* operand : operands)
    if (layout_agrees(*operand->layout, out)) return table.arranged(out, *operand->layout);
  layout_value written{.mesh = operands[0]->layout->mesh};
  for (int d = 0; d < out.ndim; ++d)
    if (out[d].split.size > 0 || out[d].kin != 0) written.split(out[d].name, out[d].split);
  return table.arranged(out, table.keep(written));
}

}  // namespace mtf::detail
