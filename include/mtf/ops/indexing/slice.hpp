#pragma once
// Parts of a dimension that begin where an index says: taken out, and put in.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/parts.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/tensor/extent.hpp>

namespace mtf {

namespace detail {

/// The verdict on an index: one int32.
template <class Start>
using index_verdict_t = first_failed_t<
    std::conditional_t<std::is_same_v<typename Start::element_type, std::int32_t>, ok,
                       error_element_type<typename Start::element_type>>,
    std::conditional_t<Start::shape_type::ndim == 0, ok, error_shapes_differ<typename Start::shape_type, shape<>>>>;

/// A part of dimension `dim` of the first of N operands.
template <std::size_t N>
struct part_work : operation_work<N> {
  rows x;  // the shard along it
  index part = 1;
  int dim = 0;

  constexpr void is_part(mesh_shape const& mesh, sharding const& of, std::uint64_t id, index extent) {
    dim = of.find(id);
    x = rows_along(of, dim, mesh);
    part = extent;
  }
  /// The part, from a shard of the whole; NaN beyond its `extent`, if that is not 0.
  template <class T>
  constexpr void take(auto const& pass, T* to, T const* from, std::int32_t const* start, index extent) const {
    pass.run(primitives::take_part<T>{x.outer, x.n, x.inner, part, offset(pass), extent, to, from, start});
  }
  /// The part into a shard of the whole; zeros if it is null.
  template <class T>
  constexpr void put(auto const& pass, T* to, T const* from, std::int32_t const* start) const {
    pass.run(primitives::put_part<T>{x.outer, x.n, x.inner, part, offset(pass), to, from, start});
  }

 private:
  constexpr index offset(auto const& pass) const { return shard_offset(this->in[0], dim, pass.mesh(), pass.rank()); }
};

template <class T>
struct slice_operation {
  part_work<2> const* work;
  static constexpr std::size_t kept = 1;  // the start
  static constexpr char const* name() { return "slice"; }

  constexpr void forward(auto& f) const {
    work->take(f, f.y(), f.x(), f.template x<1>(), work->in[0][work->dim].extent);
    f.kept = {f.template memory<1>()};
  }
  constexpr void backward(auto& g) const {
    T* const dx = g.dx();
    g.run(primitives::fill<T>{dx, work->in[0].local_size(g.mesh()), T(0)});
    work->put(g, dx, g.dy(), data_of<std::int32_t>(g.kept[0]));
  }
};

template <class D, class Part>
struct slice_call {
  template <class X, class Start>
  static auto verdict()
      -> first_failed_t<decltype(part_verdict<typename X::shape_type, D, Part>()), index_verdict_t<Start>>;
  using adds = shape<Part>;
  using without_pads = any_of_shapes<shape<D, Part>>;
  static constexpr part_work<2> derive(auto const& extents, mesh_shape const& mesh, sharding const& x,
                                       sharding const& start) {
    part_work<2> w;
    w.in = {x, start};
    w.is_part(mesh, x, D::id, extents.template of<Part>());
    auto const owners = x[w.dim].split.mask();
    w.complete[1] = start.partial;
    w.out = with_part<D, Part>(x, w.part);
    w.out.partial |= owners;  // each rank has what is here, zeros for the rest
    w.gradient_may_be_partial = ~owners;
    return w;
  }
  template <class X, class Start>
  constexpr auto operator()(X const& x, Start const& start) const {
    using T = typename X::element_type;
    using described_x = typename X::description;
    using dims = typename replaced_dim<D, Part>::template in<typename X::shape_type>;
    using out = typename result_description<T, out_of<slice_call, 0, described_x, typename Start::description>,
                                            concat_t<dims>, described_x>::type;
    return run_as<out, slice_call>(slice_operation<T>{}, x, start);
  }
};

template <class T>
struct update_operation {
  part_work<3> const* work;
  static constexpr std::size_t kept = 1;  // the start
  static constexpr bool uses_up = true;
  static constexpr char const* name() { return "update"; }

  constexpr void forward(auto& f) const {
    work->put(f, f.y_from_x(), f.template x<1>(), f.template x<2>());
    f.kept = {f.template memory<2>()};
  }
  constexpr void backward(auto& g) const {
    auto const* const start = data_of<std::int32_t>(g.kept[0]);
    if (g.wants()) {
      g.set_dx(copy_of<T>(g.g.memory, work->in[0].local_size(g.mesh())));
      work->put(g, g.dx(), static_cast<T const*>(nullptr), start);
    }
    if (g.template wants<1>()) work->take(g, g.template dx<1>(), g.dy(), start, 0);
  }
};

/// The verdict on a tensor that is to have these dimensions, in any order: that on its transposition.
template <class X, class... D>
auto dims_verdict(shape<D...> const*) {
  return decltype(transpose_call<D...>::template verdict<X>()){};
}

template <class D, class Part>
struct update_rule {
  using without_pads = any_of_shapes<shape<D, Part>>;
  static constexpr part_work<3> derive(mesh_shape const& mesh, sharding const& x, sharding const& part,
                                       sharding const& start) {
    part_work<3> w;
    w.in = {x, part, start};
    w.is_part(mesh, x, D::id, part[part.find(Part::id)].extent);
    static_cast<void>(with_part<D, Part>(x, w.part));
    w.out = x;
    w.out.partial = x.partial & part.partial;
    w.complete = {x.partial & ~w.out.partial, part.partial & ~w.out.partial, start.partial};
    w.gradient_sums[1] = x[w.dim].split.mask();
    return w;
  }
};
template <class D, class Part>
struct update_call {
  static constexpr char const* name = "update";
  template <class X>
  using part_shape = typename replaced_dim<D, Part>::template in<typename X::shape_type>;
  template <class X, class Y, class Start>
  static auto verdict() -> first_failed_t<decltype(part_verdict<typename X::shape_type, D, Part>()),
                                          decltype(dims_verdict<Y>(static_cast<part_shape<X> const*>(nullptr))),
                                          same_element_t<X, Y>, index_verdict_t<Start>>;
  template <class X, class Y, class Start>
  constexpr auto operator()(X&& x, Y const& part, Start const& start) const {
    using T = typename Y::element_type;
    using described_x = typename std::remove_cvref_t<X>::description;
    using rule = whole_along<Part>;
    auto const whole = relaid_as<description_of<T, rule, typename Y::description>, rule>("update", part);
    auto const ordered = transposed(static_cast<part_shape<described_x> const*>(nullptr), whole);
    using described_part = typename decltype(ordered)::description;
    return run_as<description_of<T, update_rule<D, Part>, described_x, described_part, typename Start::description>,
                  update_rule<D, Part>>(update_operation<T>{}, std::forward<X>(x), ordered, start);
  }
};

/// Whether an operand has D, and not Part.
template <class X, class D, class Part>
struct has_only {
  static constexpr bool value = false;
};
template <tensor_type X, class D, class Part>
struct has_only<X, D, Part> {
  static constexpr bool value = X::shape_type::template has<D> && !X::shape_type::template has<Part>;
};

/// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void part_is_outside(std::string_view part, std::int64_t length, std::string_view dim,
                                         std::int64_t extent, std::int64_t start) {
  throw user_error("a part, " + std::string(part) + " " + std::to_string(length) + ", that begins at " +
                   std::to_string(start) + " is not within " + std::string(dim) + " " + std::to_string(extent) +
                   ": it can begin at 0 to " + std::to_string(extent - length));
}
/// A number as an operand: where a part begins that is so long.
template <class D, class Part, class X, class Start>
constexpr auto start_of_part(X const& x, std::int64_t length, Start start) {
  static_assert(std::is_integral_v<Start>, "mtf: a part of a dimension begins at an integer");
  auto const at = static_cast<std::int64_t>(start), whole = extent<D>(x);
  if (length > whole) part_is_too_long(Part::name, length, D::name, whole);
  if (at < 0 || at > whole - length) part_is_outside(Part::name, length, D::name, whole, at);
  return full<tensor<std::int32_t, shape<>, typename X::layout_type, partial<>, typename X::backend_type>>(
      x.backend(), static_cast<std::int32_t>(at));
}

}  // namespace detail

/// The positions from `start` on of dimension D, as many as Part is long and under its name: x[..., start + p, ...].
/// `start`: one int32, the same on all ranks, known when the program runs; what is sent does not depend on it. If D is
/// split nothing is sent: each rank has what it owns, and the result is partial over D's axes; Part is not split.
/// Positions outside of D are NaN (0 of integers). The gradient of x is 0 elsewhere. Refused: a Part that is longer
/// than D, or there already; a start that is not one int32.
template <dimension D, dimension Part, operand X, operand Start>
constexpr auto slice(X const& x, Start const& start) {
  return detail::operate(detail::slice_call<D, Part>{}, x, start);
}

/// The same from a number on, the same on all ranks. A part that is not within D is a user_error.
template <dimension D, dimension Part, operand X, class Start>
  requires std::is_arithmetic_v<Start>
constexpr auto slice(X const& x, Start start) {
  if constexpr (detail::has_only<X, D, Part>::value) {
    auto const length = detail::extents_here{x.backend().layouts().extents()}.template of<Part>();
    return slice<D, Part>(x, detail::start_of_part<D, Part>(x, length, start));
  } else {
    return detail::operate(detail::slice_call<D, Part>{}, x, x);
  }
}

/// x with `part` in the positions from `start` on of dimension D: slice<D, Part> of the result is `part`. The
/// dimensions of `part` are those of x with Part for D, in any order. Where x is an rvalue whose memory nobody else
/// holds, as in `cache = mtf::update<length, token>(std::move(cache), keys, at)`, it is written in place; otherwise x
/// is copied. If D is split each rank writes what it owns; a `part` that is split along Part is gathered first.
/// Positions outside of D are not written. Backward nothing is sent; the gradient of `part` is partial over D's axes.
/// Refused: what slice refuses; other dimensions or elements;
/// an axis that splits D and Part.
template <dimension D, dimension Part, class X, operand Y, operand Start>
  requires operand<std::remove_cvref_t<X>>
constexpr auto update(X&& x, Y const& part, Start const& start) {
  return detail::operate_using_up(detail::update_call<D, Part>{}, std::forward<X>(x), part, start);
}

/// The same from a number on, the same on all ranks. A part that is not within D is a user_error.
template <dimension D, dimension Part, class X, operand Y, class Start>
  requires operand<std::remove_cvref_t<X>> && std::is_arithmetic_v<Start>
constexpr auto update(X&& x, Y const& part, Start start) {
  if constexpr (detail::has_only<std::remove_cvref_t<X>, D, Part>::value && detail::has_only<Y, Part, D>::value) {
    auto const at = detail::start_of_part<D, Part>(x, extent<Part>(part), start);
    return update<D, Part>(std::forward<X>(x), part, at);
  } else {
    return detail::operate(detail::update_call<D, Part>{}, x, part, x);
  }
}

}  // namespace mtf
