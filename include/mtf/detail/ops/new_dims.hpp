#pragma once
// Dimensions that an operation makes: how they are split and padded, and what follows for its rows.
#include <cstdint>
#include <type_traits>

#include <mtf/backend/work.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>

namespace mtf::detail {

/// A dimension of n positions, split and padded as the layout says. A rule whose n follows from its operands, and D's
/// type does not say, names D in its `pads`.
template <class D, class Layout>
constexpr dim_state dim_under(Layout const& layout, std::int64_t n) {
  std::int64_t stored = n;
  if constexpr (has_extent<D>)
    stored = D::stored;
  else if constexpr (!std::is_base_of_v<extents_in_types, Layout>)
    stored = layout.given.padded(D::id, D::kin, n);
  return {D::id, stored, layout.split_of(D::id, D::kin), static_cast<std::int32_t>(stored - n), D::name.data(), D::kin};
}
/// A sharding with another dimension in the place of the d-th.
constexpr sharding with_dim(sharding x, int d, dim_state const& in_its_place) {
  x[d] = in_its_place;
  x.padded = x.padded || in_its_place.pad != 0;
  return x;
}
/// Rows that are stored with pads: a copy of them, one behind the other, without.
constexpr loops<2> packed_rows(rows const& r) {
  extents const with{r.step(), 1}, without{r.n * r.inner, 1};
  return collapsed(loops<2>{.ndim = 2, .extent = {r.outer, r.n * r.inner}, .stride = {without, with}});
}
/// The reverse; pads are left alone.
constexpr loops<2> unpacked_rows(rows const& r) {
  auto l = packed_rows(r);
  auto const without = l.stride[0];
  l.stride[0] = l.stride[1];
  l.stride[1] = without;
  return l;
}
/// A sharding with a part of dimension `From` in its place, which is not split. Longer than `From`: a user_error, where
/// it is known how long that is.
template <class From, class Extents>
constexpr sharding with_part(Extents const&, sharding const& x, dim_state part) {
  int const d = x.find(From::id);
  if constexpr (has_extent<From> || !std::is_base_of_v<extents_in_types, Extents>)
    if (part.logical() > x[d].logical()) part_is_too_long(part.name, part.logical(), From::name, x[d].logical());
  part.split = {};
  return with_dim(x, d, part);
}

}  // namespace mtf::detail
