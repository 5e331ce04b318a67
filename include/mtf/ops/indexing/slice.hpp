#pragma once
// Parts of a dimension that begin where an index says: taken out, and put in.
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/parts.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/ops/new_dims.hpp>
#include <mtf/detail/ops/part_of_dim.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/tensor/extent.hpp>

namespace mtf {

namespace detail {

/// A shape's dimensions before D.
template <class D, class... Before>
struct dims_before {
  template <class Next, class... Rest>
  static auto of(shape<Next, Rest...> const*) {
    if constexpr (Next::id == D::id)
      return shape<Before...>{};
    else
      return dims_before<D, Before..., Next>::of(static_cast<shape<Rest...> const*>(nullptr));
  }
};
/// Whether a shape has all of these dimensions.
template <class Shape, class... D>
constexpr bool has_all_of(shape<D...> const*) {
  return (Shape::template has<D> && ...);
}
/// The verdict on where parts of D begin: int32, one, or one for each position along dimensions that come before D.
template <class Start, class Shape, class D>
auto index_verdict() {
  using before = decltype(dims_before<D>::of(static_cast<Shape const*>(nullptr)));
  return first_failed_t<std::conditional_t<std::is_same_v<typename Start::element_type, std::int32_t>, ok,
                                           error_element_type<typename Start::element_type>>,
                        std::conditional_t<has_all_of<before>(static_cast<typename Start::shape_type const*>(nullptr)),
                                           ok, error_shapes_differ<typename Start::shape_type, before>>>{};
}
/// The same, where the part is one.
template <class Start, class Shape, class D, class Part>
auto part_at_verdict() {
  using part = decltype(part_verdict<Shape, D, Part>());
  if constexpr (part::value)
    return index_verdict<Start, Shape, D>();
  else
    return part{};
}

/// A part of dimension `dim` of the first of N operands.
template <std::size_t N>
struct part_work : operation_work<N> {
  rows x;                      // the shard along it
  index part = 1, stored = 1;  // of the part, without pads and with them
  int dim = 0;
  bool each = false;   // of the parts before it begins at an index of its own
  loops<2> of_starts;  // operands (one for each of x.outer, those given)

  constexpr void is_part(mesh_shape const& mesh, sharding const& of, std::uint64_t id, dim_state const& is,
                         sharding const& start) {
    dim = of.find(id);
    x = rows_along(of, dim, mesh);
    part = is.logical();
    stored = is.extent;
    each = start.ndim > 0;
    sharding before;
    for (int d = 0; d < dim; ++d) before.push(of[d]);
    of_starts = aligned<1>(mesh, before, {start});
  }
  /// Where the parts begin, as `take` and `put` take it: the operand's memory, or one for each of x.outer.
  template <std::size_t I>
  constexpr auto starts(auto& f) const {
    if (!each) return f.template memory<I>();
    auto all = make_buffer<std::int32_t>(f.backend, x.outer);
    f.run(primitives::copy<std::int32_t, std::int32_t>{of_starts, data_of<std::int32_t>(all), f.template x<I>()});
    return all;
  }
  /// The part, from a shard of the whole; NaN beyond its `extent`, if that is not 0. In the part's pads it is anything.
  template <class T>
  constexpr void take(auto const& pass, T* to, T const* from, std::int32_t const* start, index extent) const {
    pass.run(primitives::take_part<T>{x.outer, x.n, x.inner, stored, offset(pass), extent, to, from, start, each});
  }
  /// The part into a shard of the whole.
  template <class T>
  constexpr void put(auto const& pass, T* to, T const* from, std::int32_t const* start) const {
    if (stored == part) return put_packed(pass, to, from, start);
    auto const packed = make_buffer<T>(pass.backend, x.outer * part * x.inner);
    pass.run(primitives::copy<T, T>{packed_rows({x.outer, part, x.inner, stored}), data_of<T>(packed), from});
    put_packed<T>(pass, to, data_of<T>(packed), start);
  }
  template <class T>
  constexpr void put_zeros(auto const& pass, T* to, std::int32_t const* start) const {
    put_packed<T>(pass, to, nullptr, start);
  }

 private:
  template <class T>
  constexpr void put_packed(auto const& pass, T* to, T const* from, std::int32_t const* start) const {
    pass.run(primitives::put_part<T>{x.outer, x.n, x.inner, part, offset(pass), to, from, start, each});
  }
  constexpr index offset(auto const& pass) const { return shard_offset(this->in[0], dim, pass.mesh(), pass.rank()); }
};

template <class T>
struct slice_operation {
  part_work<2> const* work;
  static constexpr std::size_t kept = 1;  // the start
  static constexpr char const* name() { return "slice"; }

  constexpr void forward(auto& f) const {
    f.kept = {work->template starts<1>(f)};
    work->take(f, f.y(), f.x(), data_of<std::int32_t>(f.kept[0]), work->in[0][work->dim].logical());
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
  static auto verdict() -> decltype(part_at_verdict<Start, typename X::shape_type, D, Part>());
  using adds = shape<Part>;
  static constexpr bool takes_pads = true;
  static constexpr part_work<2> derive(auto const& extents, mesh_shape const& mesh, sharding const& x,
                                       sharding const& start) {
    part_work<2> w;
    w.in = {x, start};
    auto const is = dim_from<Part>(extents, {});
    w.is_part(mesh, x, D::id, is, start);
    auto const owners = x[w.dim].split.mask();
    w.complete[1] = start.partial;
    w.out = with_part<D>(extents, x, is);
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
    f.kept = {work->template starts<2>(f)};
    work->put(f, f.y_from_x(), f.template x<1>(), data_of<std::int32_t>(f.kept[0]));
  }
  constexpr void backward(auto& g) const {
    auto const* const start = data_of<std::int32_t>(g.kept[0]);
    if (g.wants()) {
      g.set_dx(copy_of<T>(g.g.memory, work->in[0].local_size(g.mesh())));
      work->put_zeros(g, g.dx(), start);
    }
    if (g.template wants<1>()) work->take(g, g.template dx<1>(), g.dy(), start, 0);
  }
};

template <class D, class Part>
struct update_rule {
  static constexpr bool takes_pads = true;
  using adds = shape<>;  // asks only whether extents are known
  static constexpr part_work<3> derive(auto const& extents, mesh_shape const& mesh, sharding const& x,
                                       sharding const& part, sharding const& start) {
    part_work<3> w;
    w.in = {x, part, start};
    auto const& is = part[part.find(Part::id)];
    w.is_part(mesh, x, D::id, is, start);
    static_cast<void>(with_part<D>(extents, x, is));
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
  static auto verdict()
      -> first_failed_t<decltype(part_verdict<typename X::shape_type, D, Part>()),
                        decltype(dims_verdict<Y>(static_cast<part_shape<X> const*>(nullptr))), same_element_t<X, Y>,
                        decltype(part_at_verdict<Start, typename X::shape_type, D, Part>())>;
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
/// `start`: an int32, the same on all ranks, known when the program runs; what is sent does not depend on it. It may be
/// a tensor over dimensions of x before D, such as batch: each position along these has a part of its own. If D is
/// split nothing is sent: each rank has what it owns, and the result is partial over D's axes; Part is not split.
/// Positions outside of D are NaN (0 of integers). The gradient of x is 0 elsewhere. Refused: a Part that is longer
/// than D, or there already; a start that is no int32, or over other dimensions.
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
