#pragma once
// One dimension as two, and two as one: the same elements in the same order.
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <mtf/core/extents_value.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/regrouping.hpp>
#include <mtf/detail/tensor/arranged.hpp>
#include <mtf/ops/movement/relayout.hpp>

namespace mtf {

/// A dimension and two that it is to become, or was, of which the product of the extents is another.
template <class Whole, class Outer, class Inner>
struct error_extents_do_not_multiply : detail::failed {};
/// Pads of a dimension and of two that it is to become, or was, that are not whole rows of the inner one.
template <class Whole, class Outer, class Inner>
struct error_pads_not_of_the_outer : detail::failed {};
/// Two dimensions are to become one, and are not neighbours in their tensor, the outer one first.
template <class Outer, class Inner, class Shape>
struct error_dims_not_adjacent : detail::failed {};

namespace detail {

template <class D, class Outer, class Inner, class... By>
struct require<error_extents_do_not_multiply<D, Outer, Inner>, By...> {
  static_assert(never<D>, MTF_SENTENCE(MTF_SAYS_EXTENTS_DO_NOT_MULTIPLY, D, Outer, Inner));
};
template <class D, class Outer, class Inner, class... By>
struct require<error_pads_not_of_the_outer<D, Outer, Inner>, By...> {
  static_assert(never<D>, MTF_SENTENCE(MTF_SAYS_PADS_NOT_OF_THE_OUTER, D, Outer, Inner));
};
template <class Outer, class Inner, class Shape, class... By>
struct require<error_dims_not_adjacent<Outer, Inner, Shape>, By...> {
  static_assert(never<Outer>,
                MTF_SENTENCE("mtf: two dimensions that become one are neighbours in their tensor, the outer one first; "
                             "mtf::transpose<dims...>(x) stores it so",
                             Outer, Inner));
};

struct regrouping_work : operation_work<1> {
  regrouping forward;
  int dim = 0;          // the one dimension, and the first of the two
  bool splits = false;  // the one becomes two

  [[nodiscard]] constexpr bool keeps_memory() const { return forward.changes_nothing(); }
};
constexpr regrouping_work derive_regrouping_work(mesh_shape const& mesh, sharding const& from, sharding const& to,
                                                 int dim, bool splits) {
  regrouping_work w;
  w.in = {from};
  w.out = to;
  w.dim = dim;
  w.splits = splits;
  w.forward = derive_regrouping(mesh, from, to, dim, splits);
  return w;
}

/// Backward as relayout_operation.
template <class T>
struct regrouping_operation {
  regrouping_work const* work;
  char const* called;  // split_dim or merge_dims
  static constexpr std::size_t kept = 0;
  [[nodiscard]] constexpr char const* name() const { return called; }

  constexpr void forward(auto& f) const {
    f.out = execute<T>(f.backend, work->forward.after, execute<T>(f.backend, work->forward.before, f.memory()));
  }
  constexpr void backward(auto& g) const {
    auto from = work->out, to = work->in[0];
    from.partial = g.g.partial;
    g.g.partial = to.partial = from.partial & ~to.split_axes();
    auto const back = derive_regrouping(g.mesh(), from, to, work->dim, !work->splits);
    g.set_dx(execute<T>(g.backend, back.after, execute<T>(g.backend, back.before, g.g.memory)));
  }
};

/// What both ask of the extents, as far as types have them.
template <class D, class Outer, class Inner>
auto regrouped_extents_verdict() {
  if constexpr (extent_in_type<Inner>() != stored_in_type<Inner>())
    return error_pads_not_of_the_outer<D, Outer, Inner>{};
  else if constexpr (has_extent<D> && has_extent<Outer> && has_extent<Inner>)
    return first_failed_t<std::conditional_t<D::extent == Outer::extent * Inner::extent, ok,
                                             error_extents_do_not_multiply<D, Outer, Inner>>,
                          std::conditional_t<D::stored == Outer::stored * Inner::extent, ok,
                                             error_pads_not_of_the_outer<D, Outer, Inner>>>{};
  else
    return ok{};  // the call asks when they are known
}

template <class... D>
shape<D...> shape_of_list(list<D...>);
template <class Shape, class... D>
auto dims_not_there(list<D...> const*)
    -> first_failed_t<std::conditional_t<Shape::template has<D>, error_dim_already_there<D, Shape>, ok>...>;
template <class Shape, class... D>
auto dims_there(list<D...> const*) -> named_dims_t<Shape, D...>;

/// D as Outer and Inner, if it `Splits`, or these as D.
template <class D, class Outer, class Inner, bool Splits>
struct regrouping_call {
  static constexpr char const* called = Splits ? "split_dim" : "merge_dims";
  using before = std::conditional_t<Splits, list<D>, list<Outer, Inner>>;
  using after = std::conditional_t<Splits, list<Outer, Inner>, list<D>>;
  using first = typename before::template at<0>;

  template <class... Own>
  static auto shape_of(shape<Own...> const*) -> decltype(shape_of_list(
      concat_t<std::conditional_t<Own::id == first::id, after,
                                  std::conditional_t<!Splits && Own::id == Inner::id, list<>, list<Own>>>...>{}));
  template <class X>
  using result_shape = decltype(shape_of(static_cast<typename X::shape_type const*>(nullptr)));

  template <class X>
  static auto verdict() {
    using own = typename X::shape_type;
    using names =
        first_failed_t<decltype(dims_there<own>(static_cast<before const*>(nullptr))), shape_verdict_t<Outer, Inner>,
                       std::conditional_t<Splits || own::find(Inner::id) == own::find(Outer::id) + 1, ok,
                                          error_dims_not_adjacent<Outer, Inner, own>>,
                       decltype(dims_not_there<own>(static_cast<after const*>(nullptr))),
                       decltype(regrouped_extents_verdict<D, Outer, Inner>())>;
    if constexpr (!names::value)
      return names{};
    else
      return tensor_verdict_t<result_shape<X>, typename X::layout_type>{};
  }
  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  /// Asked of the backend; of one alone what the other leaves is its extent, and what two come to that of the one.
  using adds = std::conditional_t<!Splits || has_extent<Outer> || has_extent<Inner>, shape<>, shape<Outer, Inner>>;
  template <class Layout>
  static constexpr sharding target(Layout const& layout, sharding const& x) {
    sharding to;
    for (int d = 0; d < x.ndim; ++d) {
      if (x[d].id != first::id) {
        if (Splits || x[d].id != Inner::id) to.push(x[d]);
      } else if constexpr (Splits) {
        auto const two = lengths_of_two(layout, x[d]);
        check(layout, x, x[d], two);
        to.push(dim_as<Outer>(layout, two.outer, two.stored));
        to.push(dim_as<Inner>(layout, two.inner, two.inner));
      } else {
        lengths const two{x[d].logical(), x[d].extent, x[d + 1].logical(), x[d + 1].pad};
        auto one = dim_as<D>(layout, two.outer * two.inner, two.stored * two.inner);
        if constexpr (has_extent<D> && knows_extents<Layout>) one = dim_as<D>(layout, D::extent, D::stored);
        check(layout, x, one, two);
        to.push(one);
      }
    }
    to.partial = x.partial & ~to.split_axes();
    return to;
  }
  static constexpr regrouping_work derive_under(auto const& layout, mesh_shape const& mesh, sharding const& x) {
    return derive_regrouping_work(mesh, x, target(layout, x), x.find(first::id), Splits);
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    constexpr auto partial = work_in_types<regrouping_call, typename X::description>.out.partial;
    return relaid_as<reshaped<typename X::description, result_shape<X>, partial>, regrouping_call,
                     regrouping_operation>(called, x);
  }

 private:
  template <class Layout>
  static constexpr bool knows_extents = !std::is_base_of_v<extents_in_types, Layout>;
  /// Of the two; `stored`: of the outer one, with pads. `pads`: of the inner one.
  struct lengths {
    std::int64_t outer, stored, inner, pads;
  };
  template <class Of, class Layout>
  static constexpr dim_state dim_as(Layout const& layout, std::int64_t n, std::int64_t stored) {
    return {Of::id,          stored, layout.split_of(Of::id, Of::kin), static_cast<std::int32_t>(stored - n),
            Of::name.data(), Of::kin};
  }
  template <class Layout>
  static constexpr lengths lengths_of_two(Layout const& layout, dim_state const& one) {
    if constexpr (has_extent<Inner> && !has_extent<Outer>) {
      auto const n = layout.template of<Inner>();
      return {one.logical() / n, one.extent / n, n, layout.template stored<Inner>() - n};
    } else {
      auto const outer = layout.template of<Outer>(), stored = layout.template stored<Outer>();
      if constexpr (has_extent<Outer> && !has_extent<Inner>) {
        return {outer, stored, one.logical() / outer, 0};
      } else {
        auto const n = layout.template of<Inner>();
        return {outer, stored, n, layout.template stored<Inner>() - n};
      }
    }
  }
  template <class Layout>
  static constexpr void check([[maybe_unused]] Layout const& layout, [[maybe_unused]] sharding const& x,
                              [[maybe_unused]] dim_state const& one, [[maybe_unused]] lengths const& two) {
    if constexpr (knows_extents<Layout>) {
      if (two.outer * two.inner != one.logical()) refuse(MTF_SAYS_EXTENTS_DO_NOT_MULTIPLY, x, one, two);
      if (two.pads != 0 || two.stored * two.inner != one.extent) refuse(MTF_SAYS_PADS_NOT_OF_THE_OUTER, x, one, two);
    }
  }
  template <class Of>
  static std::string text_of(std::int64_t n, std::int64_t stored) {
    return named(dim_state{Of::id, stored, {}, static_cast<std::int32_t>(stored - n), Of::name.data(), Of::kin});
  }
  /// Not constexpr: a plan of such a program ends here.
  [[noreturn]] static void refuse(char const* sentence, sharding const& x, dim_state const& one, lengths const& two) {
    std::string has;
    for (int d = 0; d < x.ndim; ++d) has += (d == 0 ? "" : ", ") + named(x[d]);
    auto const becomes = [&] {
      if constexpr (Splits)
        return text_of<Outer>(two.outer, two.stored) + ", " + text_of<Inner>(two.inner, two.inner + two.pads);
      else
        return named(one);
    }();
    layout_is_wrong(sentence, "[" + has + "] to " + becomes, called);
  }
};

}  // namespace detail

/// x with dimension D as two, in its place: position d of D is position d / i of Outer and d % i of Inner, where i is
/// Inner's extent. They are split as the layout says. A D that is split over axes is an Outer that is; where these have
/// as many ranks as Outer has positions, further ones split Inner: then, and if no axis splits any of the three,
/// nothing is sent, and the result has x's memory. Else relayouts, before and after, bring each rank its part: of the
/// ways in which both dimensions can be split alike, that which sends least. An axis that would split Outer and Inner
/// both is gathered. If the type of one of the two has no extent, it is what the other leaves of D. Backward: the
/// reverse. Pads of D are Outer's: it is stored as what is stored of Outer times Inner. Refused: extents whose product
/// is not D's, other pads, a dimension that is there already.
template <dimension D, dimension Outer, dimension Inner, operand X>
constexpr auto split_dim(X const& x) {
  return detail::operate(detail::regrouping_call<D, Outer, Inner, true>{}, x);
}

/// x with its neighbours Outer and Inner as one dimension D, in their place: the reverse of split_dim<D, Outer, Inner>,
/// which sends what the gradient of that sends. D is split as the layout says; if its type has no extent, it is as long
/// as the two together. Refused: dimensions that are not neighbours, Outer first; else as for split_dim.
template <dimension Outer, dimension Inner, dimension D, operand X>
constexpr auto merge_dims(X const& x) {
  return detail::operate(detail::regrouping_call<D, Outer, Inner, false>{}, x);
}

}  // namespace mtf
