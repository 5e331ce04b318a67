#pragma once
// The same tensor with a dimension by another name.
#include <type_traits>

#include <mtf/core/mesh.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/relayout.hpp>

namespace mtf {

namespace detail {

template <class From, class To, class D>
using renamed_dim = std::conditional_t<D::id == From::id, To, D>;
template <class From, class To, class... D>
shape<renamed_dim<From, To, D>...> renamed_shape(shape<D...> const*);

template <class X, class From, class To>
struct rename_rule {
  static constexpr relayout_work make() {
    sharding from = X::spec;
    auto& renamed = from[from.find(From::id)];
    renamed.id = To::id;
    renamed.name = To::name.data();
    sharding to = from;
    to[to.find(To::id)].cut = X::layout_type::cut_of(To::id);
    to.partial &= ~to.cut_axes();
    return relayout_to("rename", X::mesh, from, to);
  }
  static constexpr relayout_work work = make();
};

}  // namespace detail

/// The same tensor with dimension `From` called `To`, of the same extent. It is cut as the layout says of `To`:
/// renaming is also how one dimension meets itself, e.g. as the queries and the keys of attention. Communication as for
/// `relayout`; none if both names are cut alike. Refused: no such dimension, a name already there, extents that differ.
template <dimension From, dimension To, operand X>
constexpr auto rename(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using old_shape = typename X::shape_type;
    using verdict = detail::first_failed_t<
        detail::named_dims_t<old_shape, From>,
        std::conditional_t<From::extent == To::extent, ok, error_extents_differ<From, To>>,
        std::conditional_t<old_shape::template has<To>, error_dim_already_there<To, old_shape>, ok>>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return refused{};
    } else {
      using new_shape = decltype(detail::renamed_shape<From, To>(static_cast<old_shape const*>(nullptr)));
      using fits = tensor_verdict_t<new_shape, typename X::layout_type>;
      if constexpr (!fits::value) {
        detail::require<fits>{};
        return refused{};
      } else {
        using rule = detail::rename_rule<typename X::description, From, To>;
        using out = tensor<typename X::element_type, new_shape, typename X::layout_type,
                           detail::partial_of<typename X::mesh_type, rule::work.to.partial>, typename X::backend_type>;
        return out(detail::run_relayout(rule::work, x.value()));
      }
    }
  }
}

}  // namespace mtf
