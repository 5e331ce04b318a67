#pragma once
// Tensors, one after the other, as one.
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include <mtf/core/extents_value.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/moved_along.hpp>
#include <mtf/detail/ops/new_dims.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/sharding/operand_rule.hpp>
#include <mtf/detail/tensor/arranged.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/transpose.hpp>

namespace mtf {

/// A dimension that is to be made of others, one after the other, and is not as long as all together.
template <class Whole, class... Parts>
struct error_extents_do_not_add : detail::failed {};
/// Tensors are to be joined along other dimensions than one of each, or one of all.
template <std::size_t Dims, std::size_t Operands>
struct error_not_one_dim_each : detail::failed {};

namespace detail {

template <class D, class... Parts, class... By>
struct require<error_extents_do_not_add<D, Parts...>, By...> {
  static_assert(never<D>, MTF_SENTENCE(MTF_SAYS_EXTENTS_DO_NOT_ADD, D, Parts...));
};
template <std::size_t Dims, std::size_t Operands, class... By>
struct require<error_not_one_dim_each<Dims, Operands>, By...> {
  static_assert(never<std::integral_constant<std::size_t, Dims>>,
                MTF_SENTENCE("mtf: tensors are joined along one dimension of each, in their order, or along one that "
                             "all have: concat<whole, dims...>(tensors...); error_not_one_dim_each<dims, tensors>"));
};

/// The operands' positions, each operand's behind those of the one before.
template <class T, std::size_t N>
struct concat_operation {
  moving_work<N> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "concat"; }

  constexpr void forward(auto& f) const { move_forward<T>(f, *work, parts(), T(0)); }
  constexpr void backward(auto& g) const { move_back<T>(g, *work, parts()); }

 private:
  [[nodiscard]] constexpr moved_stretches<N> parts() const {
    moved_stretches<N> all{};
    index at = 0;
    for (std::size_t i = 0; i < N; ++i) {
      index const n = work->in[i][work->dim].logical();
      all[i] = {{.count = n, .to = at}, i};
      at += n;
    }
    return all;
  }
};

template <class D, class... Parts>
auto added_extents_verdict() {
  if constexpr (has_extent<D> && (has_extent<Parts> && ...))
    return std::conditional_t<D::extent == (Parts::extent + ...), ok, error_extents_do_not_add<D, Parts...>>{};
  else
    return ok{};  // concat_rule asks when they are known
}

/// Of operands whose dimensions are in one order; the i-th has the i-th of the Parts.
template <class D, class... Parts>
struct concat_rule {
  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  using pads = shape<D>;

  template <class... X>
  static constexpr finding wrong(X const&... x) {
    return merge_operands<sizeof...(X)>({whole_along<Parts>::target(x)...}, linearity::none).wrong;
  }
  template <class Layout, class... X>
  static constexpr sharding target(Layout const& layout, sharding const& first, X const&... others) {
    int const d = first.find(list<Parts...>::template at<0>::id);
    auto const n = (first[d].logical() + ... + others[d].logical());
    if constexpr (!std::is_base_of_v<extents_in_types, Layout> && has_extent<D>)
      if (n != D::extent) extents_do_not_add(d, first, others...);
    auto to = with_dim(first, d, dim_under<D>(layout, n));
    to.partial = (first.partial & ... & others.partial) & ~to.split_axes();
    return to;
  }
  template <class... X>
  static constexpr auto derive_under(auto const& layout, mesh_shape const& mesh, sharding const& first,
                                     X const&... others) {
    return derive_moving(mesh, first.find(list<Parts...>::template at<0>::id), target(layout, first, others...), first,
                         others...);
  }

 private:
  /// Not constexpr: a plan of such a program ends here.
  template <class... X>
  [[noreturn]] static void extents_do_not_add(int d, X const&... x) {
    std::string parts;
    ((parts += ", " + std::string(x[d].name) + " " + std::to_string(x[d].logical())), ...);
    layout_is_wrong(MTF_SAYS_EXTENTS_DO_NOT_ADD, std::string(D::name) + " " + std::to_string(D::extent) + parts,
                    "concat");
  }
};

template <class D, class... Parts>
struct concat_call {
  static constexpr char const* name = "concat";
  template <class... X>
  using operands_rule = concat_rule<D, Parts...>;
  using dims = list<Parts...>;
  using A = typename dims::template at<0>;
  template <class X, class To>
  using with = typename replaced_dim<A, To>::template in<typename X::shape_type>;

  template <class X, class... Y>
  static auto verdict() {
    return verdict_on<X, Y...>(std::index_sequence_for<Y...>{});
  }
  template <class X, class... Y>
  constexpr auto operator()(X const& x, Y const&... y) const {
    return call(std::index_sequence_for<Y...>{}, x, y...);
  }

 private:
  template <std::size_t I>
  using further = typename dims::template at<I + 1>;
  template <class X, class... Y, std::size_t... I>
  static auto verdict_on(std::index_sequence<I...>) {
    using own = typename X::shape_type;
    using names = first_failed_t<named_dims_t<own, A>, named_dims_t<typename Y::shape_type, further<I>>...,
                                 std::conditional_t<own::template has<D>, error_dim_already_there<D, own>, ok>,
                                 decltype(dims_verdict<Y>(static_cast<with<X, further<I>> const*>(nullptr)))...,
                                 same_element_t<X, Y...>, decltype(added_extents_verdict<D, Parts...>())>;
    if constexpr (!names::value)
      return names{};
    else
      return tensor_verdict_t<with<X, D>, typename X::layout_type>{};
  }
  template <class X, class... Y, std::size_t... I>
  constexpr auto call(std::index_sequence<I...>, X const& x, Y const&... y) const {
    return run(x, transposed(static_cast<with<X, further<I>> const*>(nullptr), y)...);
  }
  template <class X, class... Y>
  static constexpr auto run(X const& x, Y const&... y) {
    using rule = concat_rule<D, Parts...>;
    using described_x = typename X::description;
    constexpr auto partial = work_in_types<rule, described_x, typename Y::description...>.out.partial;
    using operation = concat_operation<typename X::element_type, 1 + sizeof...(Y)>;
    return run_as<reshaped<described_x, with<X, D>, partial>, rule>(operation{}, x, y...);
  }
};
/// As many times the one dimension as there are operands.
template <class A, std::size_t>
struct same_again {
  using type = A;
};
template <class D, class A, std::size_t... I>
auto concat_along(std::index_sequence<I...>) -> concat_call<D, typename same_again<A, I>::type...>;

}  // namespace detail

/// Tensors as one with dimension D: along each its own dimension of `Dims`, in the place of the first one's, or, where
/// only one is named, along that of all. D's first positions are x's, then come those of y and so on. The other
/// dimensions are x's, in any order. D is split and padded as the layout says. Where what is joined is split each rank
/// gets, from those that have it, what it lacks of its positions of D, by permutes or one all-to-all; parts of which D
/// is not split at all are gathered. Backward the gradients go back likewise; they are partial over axes that split D
/// and not the part. If the type of D has no extent, D is as long as all together. Refused: another extent; other
/// dimensions or elements of an operand; a D that is there already.
template <dimension D, dimension... Dims, operand X, operand... Y>
constexpr auto concat(X const& x, Y const&... y) {
  constexpr std::size_t many = 1 + sizeof...(Y);
  if constexpr (sizeof...(Dims) == many) {
    return detail::operate(detail::concat_call<D, Dims...>{}, x, y...);
  } else if constexpr (sizeof...(Dims) == 1) {
    return detail::operate(decltype(detail::concat_along<D, Dims...>(std::make_index_sequence<many>{})){}, x, y...);
  } else {
    detail::require<error_not_one_dim_each<sizeof...(Dims), many>>{};
    return refused{};
  }
}

}  // namespace mtf
