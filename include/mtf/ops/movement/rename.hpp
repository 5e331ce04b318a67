#pragma once
// The same tensor with a dimension by another name.
#include <type_traits>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/movement/relayout.hpp>

namespace mtf {

namespace detail {

template <class From, class To>
struct rename_call {
  template <class D>
  using named = std::conditional_t<D::id == From::id, To, D>;
  template <class... D>
  static auto renamed(shape<D...> const*) -> shape<named<D>...>;
  template <class X>
  using renamed_shape = decltype(renamed(static_cast<typename X::shape_type const*>(nullptr)));

  template <class X>
  static auto verdict() {
    using own = typename X::shape_type;
    using names = first_failed_t<named_dims_t<own, From>,
                                 std::conditional_t<From::extent == To::extent, ok, error_extents_differ<From, To>>,
                                 std::conditional_t<own::template has<To>, error_dim_already_there<To, own>, ok>>;
    if constexpr (!names::value)
      return names{};
    else
      return tensor_verdict_t<renamed_shape<X>, typename X::layout_type>{};
  }
  template <class Layout>
  struct rule {
    static constexpr relayout_work derive(mesh_shape const& mesh, sharding from) {
      auto& dim = from[from.find(From::id)];
      dim.id = To::id;
      dim.name = To::name.data();
      sharding to = from;
      to[to.find(To::id)].split = Layout::split_of(To::id);
      to.partial &= ~to.split_axes();
      return derive_relayout_work(mesh, from, to);
    }
  };
  template <class X>
  constexpr auto operator()(X const& x) const {
    constexpr auto const& w = work_of<rule<typename X::layout_type>, typename X::description>;
    using out = reshaped<typename X::description, renamed_shape<X>, w.out.partial>;
    return typename out::template on<typename X::backend_type>(run_relayout("rename", w, x.value()));
  }
};

}  // namespace detail

/// The same tensor with dimension `From` called `To`, of the same extent. It is split as the layout says of `To`:
/// renaming is also how one dimension meets itself, e.g. as the queries and the keys of attention. Communication as for
/// `relayout`; none if both names are split alike. Refused: no such dimension, a name already there, extents that
/// differ.
template <dimension From, dimension To, operand X>
constexpr auto rename(X const& x) {
  return detail::operate(detail::rename_call<From, To>{}, x);
}

}  // namespace mtf
