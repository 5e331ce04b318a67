#pragma once
// Sums, means, maxima, minima and products along dimensions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/product.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>  // IWYU pragma: keep (operators)
#include <mtf/ops/movement/cast.hpp>

namespace mtf {

namespace detail {

/// How elements become one.
enum class reduce_by : std::uint8_t { sum, product, max, min };

/// What one rank does for a reduction.
struct reduce_work : operation_work<1> {
  axis_mask exchange = 0;  // of all but sums: axes over which ranks combine their results
  reduction forward;       // in -> out
  loops<2> spread;         // out -> in, backward
  double count = 1;        // elements behind one result, globally
};

/// out: the dimensions of `in` that stay.
constexpr reduce_work derive_reduce(mesh_shape const& mesh, sharding const& in, sharding const& out, reduce_by op) {
  reduce_work w;
  w.in = {in};
  w.out = out;
  auto const gone = axes_of_others(out, in);
  for (int d = 0; d < in.ndim; ++d)
    if (!out.has(in[d].id)) w.count *= static_cast<double>(in[d].logical());
  if (op == reduce_by::sum) {
    w.out.partial = in.partial | gone;
  } else {
    w.out.partial = 0;
    w.complete[0] = in.partial;
    w.exchange = gone;
  }
  // Over the axes that split the operand each rank needs the reduced gradient, for its own part.
  w.gradient_may_be_partial = ~in.split_axes();
  w.forward = reduction_to(mesh, w.out, in);
  w.spread = aligned<1>(mesh, in, {w.out});
  return w;
}

/// The elements behind each result that are on this rank, without pads.
constexpr reduction without_pads(reduce_work const& w, auto const& pass) {
  return w.in[0].padded ? reduction_to(pass.mesh(), w.out, w.in[0], pass.rank()) : w.forward;
}
/// Whether there are none.
constexpr bool is_empty(reduction const& r) {
  for (int d = 0; d < r.reduced.ndim; ++d)
    if (r.reduced.extent[static_cast<std::size_t>(d)] == 0) return true;
  return false;
}

/// What sums of T are: of bools, and of integers, as many as fit into 64 bits.
template <class T>
using sum_element_t = std::conditional_t<is_floating<T>, T, std::int64_t>;

template <class T, class R = T>
struct sum_operation {
  reduce_work const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "sum"; }

  constexpr void forward(auto& f) const { f.run(primitives::reduce<T, R>{combine::sum, work->forward, f.y(), f.x()}); }
  constexpr void backward(auto& g) const { g.run(primitives::copy<T, R>{work->spread, g.dx(), g.dy()}); }
};

/// The gradient of a maximum or minimum goes to every element that equals it, ties included, as in Mesh-TensorFlow.
struct where_equal {
  template <class A, class B, class G>
  MTF_FUNCTION constexpr auto operator()(A x, B extreme, G g) const {
    return x == extreme ? g : G(0);
  }
};

/// What changes no maximum, or no minimum.
template <class T>
constexpr T neutral(combine op) {
  if constexpr (std::is_same_v<T, bool>)
    return op == combine::min;
  else if constexpr (is_floating<T>)
    return static_cast<T>(op == combine::max ? -std::numeric_limits<compute_t<T>>::infinity()
                                             : std::numeric_limits<compute_t<T>>::infinity());
  else
    return op == combine::max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}

template <reduce_by Op, class T>
struct extreme_operation {
  reduce_work const* work;
  static constexpr std::size_t kept = 2;  // x, y
  static constexpr char const* name() { return Op == reduce_by::max ? "reduce_max" : "reduce_min"; }

  constexpr void forward(auto& f) const {
    constexpr auto op = Op == reduce_by::max ? combine::max : combine::min;
    T* const y = f.y();
    auto const here = without_pads(*work, f);
    if (is_empty(here))
      f.run(primitives::fill<T>{y, work->out.local_size(f.mesh()), neutral<T>(op)});
    else
      f.run(primitives::reduce<T>{op, here, y, f.x()});
    if (work->exchange != 0)
      f.backend.communicate(collective::all_reduce(work->exchange, op, element_of<T>,
                                                   static_cast<std::size_t>(work->out.local_size(f.mesh()))),
                            y, y);
    f.kept = {f.memory(), f.out};
  }
  constexpr void backward(auto& g) const {
    auto const each = aligned<3>(g.mesh(), work->in[0], {work->in[0], work->out, work->out});
    g.run(primitives::map<where_equal, T, T, T, T>{
        where_equal{}, each, g.dx(), {data_of<T>(g.kept[0]), data_of<T>(g.kept[1]), g.dy()}});
  }
};

template <class T>
struct product_operation {
  using A = compute_t<T>;
  reduce_work const* work;
  static constexpr std::size_t kept = 2;  // x, and the products of the other ranks' elements
  static constexpr char const* name() { return "reduce_prod"; }

  constexpr void forward(auto& f) const {
    // No all-reduce multiplies. Each rank gets all parts, and multiplies them in one order: all get the same bits.
    auto const n = work->out.local_size(f.mesh());
    auto const ranks = f.mesh().size(work->exchange), me = f.mesh().index_within(f.rank(), work->exchange);
    auto gathered = make_buffer<A>(f.backend, ranks * n), others = make_buffer<A>(f.backend, n);
    A *const parts = data_of<A>(gathered), *const mine = data_of<A>(gathered, me * n);
    auto const here = without_pads(*work, f);
    if (is_empty(here))
      f.run(primitives::fill<A>{mine, n, A(1)});
    else
      f.run(primitives::product<T>{here, mine, f.x()});
    if (work->exchange != 0)
      f.backend.communicate(collective::all_gather(work->exchange, element_of<A>, static_cast<std::size_t>(n)), mine,
                            parts);
    f.run(primitives::join_products<T>{n, ranks, me, f.y(), data_of<A>(others), parts});
    f.kept = {f.memory(), others};
  }
  constexpr void backward(auto& g) const {
    auto const here = without_pads(*work, g);
    T* const dx = g.dx();
    if (!is_empty(here))
      g.run(primitives::product_vjp<T>{here, dx, data_of<T>(g.kept[0]), g.dy(), data_of<A>(g.kept[1])});
  }
};

template <reduce_by Op, class T>
using reduce_operation =
    std::conditional_t<Op == reduce_by::sum, sum_operation<T, sum_element_t<T>>,
                       std::conditional_t<Op == reduce_by::product, product_operation<T>, extreme_operation<Op, T>>>;

/// Along the dimensions D, or all if there is none. Bools are added and multiplied as numbers.
template <reduce_by Op, class... D>
struct reduce_call {
  template <class X>
  static auto verdict() -> named_dims_t<typename X::shape_type, D...>;

  static constexpr bool takes_pads = true;
  static constexpr reduce_work derive(mesh_shape const& mesh, sharding const& x) {
    return derive_reduce(mesh, x, without(x, std::array<std::uint64_t, sizeof...(D) + 1>{D::id..., 0}, sizeof...(D)),
                         Op);
  }
  template <class X>
  static constexpr bool sums_all = sizeof...(D) == 0 || sizeof...(D) == static_cast<std::size_t>(X::shape_type::ndim);
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    using described = typename X::description;
    using R = std::conditional_t<Op == reduce_by::sum, sum_element_t<T>, T>;
    if constexpr (std::is_same_v<T, bool> && Op == reduce_by::product)
      return reduce_call{}(cast<std::int32_t>(x));
    else if constexpr (std::is_same_v<T, bfloat16> && Op == reduce_by::sum && sums_all<X>)
      return reduce_call{}(cast<float>(x));
    else
      return run_as<description_of<R, reduce_call, described>, reduce_call>(reduce_operation<Op, T>{}, x);
  }
};

template <class... D>
struct mean_call {
  template <class X>
  static auto verdict() -> named_dims_t<typename X::shape_type, D...>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using sum = reduce_call<reduce_by::sum, D...>;
    if constexpr (is_floating<typename X::element_type>) {
      auto const total = sum{}(x);
      auto const of_each = place_of(x).spec().global_size() / place_of(total).spec().global_size();
      return total * (1.0 / static_cast<double>(of_each));
    } else {
      return mean_call{}(cast<float>(x));
    }
  }
};

template <class... D>
struct weighted_mean_call {
  template <class X, class W>
  static auto verdict()
      -> first_failed_t<floating_t<X>,
                        std::conditional_t<same_dims(X::spec, W::spec), ok,
                                           error_shapes_differ<typename W::shape_type, typename X::shape_type>>>;
  template <class X, class W>
  using operands_rule = said_by_parts;
  template <class X, class W>
  constexpr auto operator()(X const& x, W const& weights) const {
    using T = typename X::element_type;
    using sum = reduce_call<reduce_by::sum, D...>;
    if constexpr (std::is_same_v<T, bfloat16>) {  // products, both sums and the quotient would be rounded each
      auto const wide = weighted_mean_call{}(cast<float>(x), weights);
      if constexpr (sum::template sums_all<X>)
        return wide;
      else
        return cast<T>(wide);
    } else {
      auto const w = cast<T>(weights);
      auto const weighted = operate(sum{}, x * w);  // first: plans are in the program's order, wherever they are made
      return weighted / operate(sum{}, w);
    }
  }
};

}  // namespace detail

/// The sum along the named dimensions; along all if none is named; of bools the number of those that are set. Sums of
/// integers and bools are int64. Along all, of bfloat16, it is float, as a loss may be made of it. The result is
/// partial over the axes that split them: nothing is sent. Backward: a broadcast; nothing is sent unless the gradient
/// arrives partial over axes that split x. Refused: a dimension that x lacks.
template <dimension... Dims, operand X>
constexpr auto sum(X const& x) {
  return detail::operate(detail::reduce_call<detail::reduce_by::sum, Dims...>{}, x);
}

/// The arithmetic mean along the named dimensions, or all: a sum, scaled; of integers and bools as float. Communication
/// as for `sum`.
template <dimension... Dims, operand X>
constexpr auto mean(X const& x) {
  return detail::operate(detail::mean_call<Dims...>{}, x);
}

/// sum(x weights) / sum(weights) along the named dimensions, or all: the mean of what counts. The weights, numbers or
/// bools, have the dimensions of x. Both sums are global, whatever share of the weights a rank has; weights that are
/// all 0 give NaN. Communication: as for `sum`, and one all-reduce of the sum of the weights over the axes that split
/// the dimensions. Refused: an x of integers, weights of other dimensions.
template <dimension... Dims, operand X, operand W>
constexpr auto weighted_mean(X const& x, W const& weights) {
  return detail::operate(detail::weighted_mean_call<Dims...>{}, x, weights);
}

/// The largest element along the named dimensions, or all; NaN if one is; of bools: is any set? One all-reduce of the
/// result over the axes that split them, at once. Backward: the gradient goes to all elements that equal the maximum,
/// of NaN to none.
template <dimension... Dims, operand X>
constexpr auto reduce_max(X const& x) {
  return detail::operate(detail::reduce_call<detail::reduce_by::max, Dims...>{}, x);
}

/// The smallest element along the named dimensions, or all; of bools: are all set? See `reduce_max`.
template <dimension... Dims, operand X>
constexpr auto reduce_min(X const& x) {
  return detail::operate(detail::reduce_call<detail::reduce_by::min, Dims...>{}, x);
}

/// The product of the elements along the named dimensions, or all; NaN if one is; of bools as int32. One all-gather
/// over the axes that split them: each rank's product for each element of the result, of float where x is of bfloat16.
/// Backward: an element's gradient is that of the result times the product of all others, which zeros do not spoil.
template <dimension... Dims, operand X>
constexpr auto reduce_prod(X const& x) {
  return detail::operate(detail::reduce_call<detail::reduce_by::product, Dims...>{}, x);
}

}  // namespace mtf
