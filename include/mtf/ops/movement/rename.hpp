#pragma once
// The same tensor with a dimension by another name.
#include <type_traits>

#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>
#include <mtf/ops/movement/relayout.hpp>

namespace mtf {

/// A dimension is renamed to one of another extent.
template <class Dim1, class Dim2>
struct error_extents_differ : detail::failed {};

namespace detail {

template <class D1, class D2, class... By>
struct require<error_extents_differ<D1, D2>, By...> {
  static_assert(never<D1, D2>, MTF_SENTENCE("mtf: a dimension can only be renamed to one of the same extent", D1, D2));
};

template <class From, class To>
struct rename_call {
  template <class X>
  using renamed_shape = typename replaced_dim<From, To>::template in<typename X::shape_type>;

  template <class X>
  static auto verdict() {
    using own = typename X::shape_type;
    using names = first_failed_t<named_dims_t<own, From>,
                                 std::conditional_t<extent_in_type<From>() == extent_in_type<To>() &&
                                                        stored_in_type<From>() == stored_in_type<To>(),
                                                    ok, error_extents_differ<From, To>>,
                                 std::conditional_t<own::template has<To>, error_dim_already_there<To, own>, ok>>;
    if constexpr (!names::value)
      return names{};
    else
      return tensor_verdict_t<renamed_shape<X>, typename X::layout_type>{};
  }
  static constexpr sharding under_its_name(sharding x) {
    for (auto& dim : x.dim)
      if (dim.id == From::id) {
        dim.id = To::id;
        dim.name = To::name.data();
        dim.kin = To::kin;
      }
    return x;
  }
  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  /// Split as the layout says.
  template <class Layout>
  static constexpr sharding target(Layout const& layout, sharding const& x) {
    sharding to = under_its_name(x);
    for (auto& dim : to.dim)
      if (dim.id == To::id) dim.split = layout.split_of(To::id, To::kin);
    to.partial &= ~to.split_axes();
    return to;
  }
  static constexpr relayout_work derive_under(auto const& layout, mesh_shape const& mesh, sharding const& x) {
    return derive_relayout_work(mesh, under_its_name(x), target(layout, x));
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    constexpr auto partial = work_in_types<rename_call, typename X::description>.out.partial;
    return relaid_as<reshaped<typename X::description, renamed_shape<X>, partial>, rename_call>("rename", x);
  }
};

}  // namespace detail

/// The same tensor with dimension `From` called `To`, of the same extent. It is split as the layout says of `To`:
/// renaming is also how one dimension meets itself, e.g. as the queries and the keys of attention. Communication as for
/// `relayout`; none if both names are split in the same way. Refused: no such dimension, a name already there, extents
/// that differ.
template <dimension From, dimension To, operand X>
constexpr auto rename(X const& x) {
  return detail::operate(detail::rename_call<From, To>{}, x);
}

}  // namespace mtf
