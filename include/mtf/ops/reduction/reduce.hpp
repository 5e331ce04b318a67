#pragma once
// Sums, means, maxima and minima along dimensions.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/movement/cast.hpp>

namespace mtf {

namespace detail {

/// What one rank does for a reduction.
struct reduce_work {
  sharding in, out;
  axis_mask complete = 0;  // sums to take before
  axis_mask exchange = 0;  // max and min: axes to combine over at once
  reduction work;          // in -> out
  loops<2> spread;         // out -> in, backward
  double count = 1;        // elements behind one result, globally
};

constexpr reduce_work derive_reduce(mesh_shape const& mesh, sharding const& in, sharding out, combine op) {
  reduce_work w;
  axis_mask gone = 0;
  for (int d = 0; d < in.rank; ++d)
    if (!out.has(in[d].id)) {
      gone |= in[d].cut.mask();
      w.count *= static_cast<double>(in[d].extent);
    }
  if (op == combine::sum) {
    out.partial = in.partial | gone;
  } else {
    out.partial = 0;
    w.complete = in.partial;
    w.exchange = gone;
  }
  w.in = in;
  w.out = out;
  w.work = reduction_to(mesh, out, in);
  w.spread = aligned<1>(mesh, in, {out});
  return w;
}

template <class Backend, class T>
class sum_node {
 public:
  constexpr sum_node(reduce_work const& w, ref<gradient_slot<Backend, T>> const& in,
                     ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), in_(in), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "sum", w_->in);
    auto g = out_->take(~w_->in.cut_axes());
    if (!g.memory) return;
    auto dx = make_buffer<T>(b, w_->in.local_size(b.ranks().mesh()));
    b.run(primitives::copy<T, T>{w_->spread, data_of<T>(dx), data_of<T>(g.memory)});
    in_->add({std::move(dx), g.partial});
  }

 private:
  reduce_work const* w_;
  ref<gradient_slot<Backend, T>> in_, out_;
};

/// The gradient of a maximum or minimum goes to every element that equals it, ties included, as in Mesh-TensorFlow.
struct where_equal {
  template <class A, class B, class G>
  MTF_FUNCTION constexpr auto operator()(A x, B extreme, G g) const {
    return x == extreme ? g : G(0);
  }
};

template <class Backend, class T>
class extreme_node {
 public:
  constexpr extreme_node(reduce_work const& w, value<Backend, T> const& in, buffer<Backend> const& out,
                         ref<gradient_slot<Backend, T>> const& slot)
      : w_(&w), x_(in), y_(out), out_(slot) {}
  constexpr void run() {
    // Every rank may hold the extreme: the gradient must be whole, and each rank keeps its own share.
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "extreme", w_->in);
    auto g = out_->take(~w_->in.cut_axes());
    if (!g.memory) return;
    auto const& mesh = b.ranks().mesh();
    auto dx = make_buffer<T>(b, w_->in.local_size(mesh));
    b.run(primitives::map<where_equal, T, T, T, T>{where_equal{},
                                                   aligned<3>(mesh, w_->in, {w_->in, w_->out, w_->out}),
                                                   data_of<T>(dx),
                                                   {x_.data(), data_of<T>(y_), data_of<T>(g.memory)}});
    x_.slot->add({std::move(dx), g.partial});
  }

 private:
  reduce_work const* w_;
  value<Backend, T> x_;
  buffer<Backend> y_;
  ref<gradient_slot<Backend, T>> out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_reduce(combine op, reduce_work const& w, value<Backend, T> const& operand) {
  Backend& b = operand.backend();
  operation<Backend> const here(b, op == combine::sum ? "sum" : "extreme", w.out);
  auto const x = completed_value(operand, w.in, w.complete);
  auto const size = w.out.local_size(b.ranks().mesh());
  auto out = make_value<T>(b, size);
  b.run(primitives::reduce<T>{op, w.work, out.data(), x.data()});
  if (w.exchange != 0)
    b.all_reduce(w.exchange, op, static_cast<T const*>(out.data()), out.data(), static_cast<std::size_t>(size));
  if (op == combine::sum)
    record(tape_of(x), out, w.out, [&](auto const& slot) { return sum_node<Backend, T>(w, x.slot, slot); });
  else
    record(tape_of(x), out, w.out, [&](auto const& slot) { return extreme_node<Backend, T>(w, x, out.memory, slot); });
  return out;
}

template <combine Op, class X, class... D>
struct reduce_rule {
  static constexpr reduce_work work = derive_reduce(
      X::mesh, X::spec, without(X::spec, std::array<std::uint64_t, sizeof...(D) + 1>{D::id..., 0}, sizeof...(D)), Op);
  static constexpr sharding out = work.out;
};

template <class X, class T>
inline constexpr bool has_elements = false;
template <tensor_type X, class T>
inline constexpr bool has_elements<X, T> = std::is_same_v<typename X::element_type, T>;

template <combine Op, class... D, class X>
constexpr auto reduce(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using verdict = named_dims_t<typename X::shape_type, D...>;
    if constexpr (!verdict::value) {
      require<verdict>{};
      return refused{};
    } else {
      using rule = reduce_rule<Op, typename X::description, D...>;
      using out = result_t<typename X::element_type, rule, X>;
      return out(run_reduce(Op, rule::work, x.value()));
    }
  }
}

}  // namespace detail

/// The sum along the named dimensions; along all if none is named; of bools, as int32, the number of those that are
/// set. The result is partial over the axes that cut them: nothing is sent. Backward: a broadcast, nothing is sent.
/// Refused: a dimension that the tensor lacks.
template <dimension... Dims, operand X>
constexpr auto sum(X const& x) {
  if constexpr (detail::has_elements<X, bool>)
    return detail::reduce<combine::sum, Dims...>(cast<std::int32_t>(x));
  else
    return detail::reduce<combine::sum, Dims...>(x);
}

/// The arithmetic mean along the named dimensions, or all: a sum, scaled; of integers and bools as float. Communication
/// as for `sum`.
template <dimension... Dims, operand X>
constexpr auto mean(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else if constexpr (!is_floating<typename X::element_type>) {
    return mean<Dims...>(cast<float>(x));
  } else {
    auto const s = detail::reduce<combine::sum, Dims...>(x);
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(s)>, refused>)
      return refused{};
    else
      return s * (1.0 / detail::reduce_rule<combine::sum, typename X::description, Dims...>::work.count);
  }
}

/// sum(x weights) / sum(weights) along the named dimensions, or all: the mean of what counts. The weights, numbers or
/// bools, have the dimensions of x. Both sums are global, whatever share of the weights a rank has; weights that are
/// all 0 give NaN. Communication: as for `sum`, and one all-reduce of the sum of the weights over the axes that cut the
/// dimensions. Refused: an x of integers, weights of other dimensions.
template <dimension... Dims, operand X, operand W>
constexpr auto weighted_mean(X const& x, W const& weights) {
  if constexpr (detail::any_refused<X, W>) {
    return refused{};
  } else {
    using T = typename X::element_type;
    using verdict =
        detail::first_failed_t<std::conditional_t<is_floating<T>, ok, error_element_type<T>>,
                               std::conditional_t<detail::same_dims(X::spec, W::spec), ok,
                                                  error_shapes_differ<typename W::shape_type, typename X::shape_type>>>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return refused{};
    } else {
      auto const w = cast<T>(weights);
      return sum<Dims...>(x * w) / sum<Dims...>(w);
    }
  }
}

/// The largest element along the named dimensions, or all; NaN if one is; of bools: is any set? One all-reduce of the
/// result over the axes that cut them, at once. Backward: the gradient goes to all elements that equal the maximum, of
/// NaN to none.
template <dimension... Dims, operand X>
constexpr auto reduce_max(X const& x) {
  return detail::reduce<combine::max, Dims...>(x);
}

/// The smallest element along the named dimensions, or all; of bools: are all set? See `reduce_max`.
template <dimension... Dims, operand X>
constexpr auto reduce_min(X const& x) {
  return detail::reduce<combine::min, Dims...>(x);
}

}  // namespace mtf
