#pragma once
// The same tensor in another order of its dimensions.
#include <cstddef>
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/detail/ops/frame.hpp>

namespace mtf {

namespace detail {

/// A reordering of the shard: a copy there, a copy back.
struct transpose_work {
  sharding in, out;
};

template <class Backend, class T>
class transpose_node {
 public:
  constexpr transpose_node(transpose_work const& w, ref<gradient_slot<Backend, T>> const& in,
                           ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), in_(in), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "transpose", w_->in);
    auto g = out_->take();
    if (!g.memory) return;
    auto const& mesh = b.ranks().mesh();
    auto dx = make_buffer<T>(b, w_->in.local_size(mesh));
    b.run(primitives::copy<T, T>{aligned<1>(mesh, w_->in, {w_->out}), data_of<T>(dx), data_of<T>(g.memory)});
    in_->add({std::move(dx), g.partial});
  }

 private:
  transpose_work const* w_;
  ref<gradient_slot<Backend, T>> in_, out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_transpose(transpose_work const& w, value<Backend, T> const& x) {
  Backend& b = x.backend();
  operation<Backend> const here(b, "transpose", w.out);
  auto const& mesh = b.ranks().mesh();
  auto out = make_value<T>(b, w.out.local_size(mesh));
  b.run(primitives::copy<T, T>{aligned<1>(mesh, w.out, {w.in}), out.data(), x.data()});
  record(tape_of(x), out, w.out, [&](auto const& slot) { return transpose_node<Backend, T>(w, x.slot, slot); });
  return out;
}

constexpr sharding in_order(sharding const& s, auto const& ids, int rank) {
  sharding out;
  for (int d = 0; d < rank; ++d) out.push(s[s.find(ids[static_cast<std::size_t>(d)])]);
  out.partial = s.partial;
  return out;
}

template <class X, class Shape>
struct transpose_rule {
  static constexpr sharding out = in_order(X::spec, Shape::ids, Shape::rank);
  static constexpr transpose_work work{X::spec, out};
};

}  // namespace detail

/// The same tensor stored in another order: a local copy.
template <dimension... Dims, operand X>
constexpr auto transpose(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using order = shape<Dims...>;
    using verdict =
        detail::first_failed_t<shape_verdict_t<Dims...>, detail::named_dims_t<typename X::shape_type, Dims...>,
                               std::conditional_t<sizeof...(Dims) == X::shape_type::rank, ok,
                                                  error_shapes_differ<typename X::shape_type, order>>>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return refused{};
    } else if constexpr (std::is_same_v<order, typename X::shape_type>) {
      return x;
    } else {
      using out = tensor<typename X::element_type, order, typename X::layout_type, typename X::partial_type,
                         typename X::backend_type>;
      return out(detail::run_transpose(detail::transpose_rule<typename X::description, order>::work, x.value()));
    }
  }
}

namespace detail {

/// Transposed to the order of a shape.
template <class... D>
constexpr auto transposed(shape<D...> const*, auto const& x) {
  return transpose<D...>(x);
}

}  // namespace detail

}  // namespace mtf
