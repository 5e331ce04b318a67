#pragma once
// Tensors from nothing, from the host, and back to it.
#include <span>
#include <string>

#include <mtf/ops/contraction/einsum.hpp>

namespace mtf {

namespace detail {

template <class T>
constexpr bool holds(double number) {
  if constexpr (is_floating<T>) {
    return true;
  } else {
    if (!(number >= -0x1p63 && number < 0x1p63)) return false;
    auto const whole = static_cast<std::int64_t>(number);
    return static_cast<double>(whole) == number && static_cast<std::int64_t>(static_cast<T>(whole)) == whole;
  }
}

}  // namespace detail

/// Every element is `number`; one that integers or bools do not hold is a user_error.
template <tensor_type X>
constexpr X full(typename X::backend_type& b, double number) {
  using T = typename X::element_type;
  if (!detail::holds<T>(number))
    throw user_error("full: the number is " + std::to_string(number) + ", which an element of an integer type does not hold");
  auto v = detail::make_value<T>(b, X::local_size);
  b.fill(v.data(), X::local_size, static_cast<T>(static_cast<detail::compute_t<T>>(number)));
  return X(std::move(v));
}
template <tensor_type X>
constexpr X zeros(typename X::backend_type& b) {
  return full<X>(b, 0);
}
template <tensor_type X>
constexpr X ones(typename X::backend_type& b) {
  return full<X>(b, 1);
}

/// The position along Dim, as elements of X.
template <dimension Dim, tensor_type X>
constexpr X iota(typename X::backend_type& b) {
  static_cast<void>(detail::require<detail::named_dims_t<typename X::shape_type, Dim>>{});
  constexpr int d = X::spec.find(Dim::id);
  auto v = detail::make_value<typename X::element_type>(b, X::local_size);
  b.iota(detail::rows_along(X::spec, d, X::mesh), detail::shard_offset(X::spec, d, X::mesh, b.ranks().rank()), v.data());
  return X(std::move(v));
}

/// True where a query may see a key: the position along Key does not exceed that along Query. Nothing is sent.
template <dimension Query, dimension Key, layout_type Layout, class Backend>
constexpr auto causal_mask(Backend& b) {
  using positions = tensor<std::int32_t, shape<Query, Key>, Layout, partial<>, Backend>;
  return iota<Query, positions>(b) >= iota<Key, positions>(b);
}

/// A tensor whose global elements, row-major over its shape, are given alike on every rank; each keeps its shard.
template <tensor_type X>
X from_global(typename X::backend_type& b, std::span<typename X::element_type const> global) {
  using T = typename X::element_type;
  if (global.size() != static_cast<std::size_t>(X::shape_type::size))
    throw user_error("from_global: the tensor has " + std::to_string(X::shape_type::size) + " elements, but " +
                     std::to_string(global.size()) + " were given");
  auto const place = detail::placement_of(X::spec, X::mesh, b.ranks().rank());
  auto const size = static_cast<std::size_t>(X::local_size);
  using stored = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;  // std::vector<bool> is no array of bools
  std::vector<stored> mine(size);
  for (std::size_t i = 0; i < size; ++i) {
    auto rest = static_cast<detail::index>(i), at = place.offset;
    for (int d = place.local.rank - 1; d >= 0; --d) {
      auto const e = static_cast<std::size_t>(d);
      at += rest % place.local.extent[e] * place.local.stride[0][e];
      rest /= place.local.extent[e];
    }
    mine[i] = static_cast<stored>(global[static_cast<std::size_t>(at)]);
  }
  auto v = detail::make_value<T>(b, X::local_size);
  b.from_host(v.data(), mine.data(), size * sizeof(T));
  return X(std::move(v));
}

/// Refused: elements of another type, or not in one piece.
template <tensor_type X, class Given>
  requires(!std::is_convertible_v<Given, std::span<typename X::element_type const>>)
X from_global(typename X::backend_type&, Given&&) {
  detail::require<error_not_elements<std::remove_cvref_t<Given>, typename X::element_type>>{};
  return {};
}

namespace detail {

/// "batch 3, sequence 17": the place of a global element, counted from 0.
template <class... D>
std::string place_text(shape<D...> const*, std::size_t at) {
  std::string text;
  auto const step = [&](std::string_view name, std::int64_t extent) {
    text = std::string(name) + " " + std::to_string(static_cast<std::int64_t>(at) % extent) + (text.empty() ? "" : ", ") + text;
    at /= static_cast<std::size_t>(extent);
  };
  std::array<std::pair<std::string_view, std::int64_t>, sizeof...(D)> const dims{std::pair{D::name, D::extent}...};
  for (std::size_t d = dims.size(); d-- > 0;) step(dims[d].first, dims[d].second);
  return text;
}

}  // namespace detail

/// The same for positions along Dim, such as labels or token numbers. A negative one stands for none. One at or above the
/// extent is a user_error that says where it is.
template <tensor_type X, dimension Dim>
X from_global(typename X::backend_type& b, std::span<typename X::element_type const> global) {
  for (std::size_t i = 0; i < global.size(); ++i)
    if (global[i] >= Dim::extent)
      throw user_error("from_global: " + std::string(Dim::name) + " has " + std::to_string(Dim::extent) +
                       " positions, 0 to " + std::to_string(Dim::extent - 1) + " (negative: none), but the element at [" +
                       detail::place_text(static_cast<typename X::shape_type const*>(nullptr), i) + "] is " +
                       std::to_string(global[i]));
  return from_global<X>(b, global);
}
template <tensor_type X, dimension Dim, class Given>
  requires(!std::is_convertible_v<Given, std::span<typename X::element_type const>>)
X from_global(typename X::backend_type& b, Given&& given) {
  return from_global<X>(b, std::forward<Given>(given));
}

/// All elements of the global tensor, row-major over its shape, on every rank: sums are taken, shards gathered.
template <tensor_type X>
auto to_global(X const& x) {
  return relayout<layout<typename X::mesh_type>>(complete(x)).local();
}

/// The number in a tensor without dimensions; its sum is taken.
template <tensor_type X>
auto item(X const& x)
  requires(X::shape_type::rank == 0)
{
  return complete(x).local()[0];
}
inline double item(refused const&) { return 0; }
inline std::vector<float> to_global(refused const&) { return {}; }

namespace detail {

/// The sharding of a broadcast to Shape: the operand's cuts, and the layout's for the new dimensions.
template <class X, class Shape>
struct broadcast_rule {
  static constexpr reduce_work make() {
    reduce_work w;
    w.in = sharding_of<Shape, typename X::layout_type>;
    w.out = X::spec;
    w.work = reduction_to(X::mesh, w.out, w.in);
    w.spread = aligned<1>(X::mesh, w.in, {w.out});
    w.in.partial = X::spec.partial & ~w.in.cut_axes();
    w.complete = X::spec.partial & w.in.cut_axes();
    for (int d = 0; d < w.in.rank; ++d)
      if (!w.out.has(w.in[d].id)) w.exchange |= w.in[d].cut.mask();
    return w;
  }
  static constexpr reduce_work work = make();
};

/// Backward of a broadcast: a sum over the new dimensions, partial where they are cut.
template <class Backend, class T>
class broadcast_node {
 public:
  constexpr broadcast_node(reduce_work const& w, ref<gradient_slot<Backend, T>> const& in, ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), in_(in), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "broadcast", w_->in);
    auto const g = out_->take();
    if (!g.memory) return;
    auto dx = make_buffer<T>(b, w_->out.local_size(b.ranks().mesh()));
    b.reduce(combine::sum, w_->work, data_of<T>(dx), static_cast<T const*>(data_of<T>(g.memory)));
    in_->add({std::move(dx), g.partial | w_->exchange});
  }

 private:
  reduce_work const* w_;
  ref<gradient_slot<Backend, T>> in_, out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_broadcast(reduce_work const& w, value<Backend, T> const& operand) {
  Backend& b = operand.backend();
  operation<Backend> const here(b, "broadcast", w.in);
  auto const x = completed_value(operand, w.out, w.complete);
  auto out = make_value<T>(b, w.in.local_size(b.ranks().mesh()));
  b.copy(w.spread, out.data(), static_cast<T const*>(x.data()));
  if constexpr (is_floating<T>)
    record(tape_of(x), out, w.in, [&](auto const& slot) {
      return broadcast_node<Backend, T>(w, x.slot, slot);
    });
  return out;
}

template <class X, class S>
struct has_all;
template <class X, class... D>
struct has_all<X, shape<D...>> : named_dims<X, D...> {};

}  // namespace detail

/// The tensor repeated along the dimensions that it lacks, in the order given: how an outer product is asked for by name.
/// New dimensions are cut as the tensor's layout says; nothing is sent. Refused: a shape that lacks one of its dimensions.
template <dimension... Dims, operand X>
constexpr auto broadcast(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using to = shape<Dims...>;
    using verdict = detail::first_failed_t<shape_verdict_t<Dims...>,
                                           typename detail::has_all<to, typename X::shape_type>::type,
                                           tensor_verdict_t<to, typename X::layout_type>>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return refused{};
    } else {
      using rule = detail::broadcast_rule<typename X::description, to>;
      using out = tensor<typename X::element_type, to, typename X::layout_type,
                         detail::partial_of<typename X::mesh_type, rule::work.in.partial>, typename X::backend_type>;
      return out(detail::run_broadcast(rule::work, x.value()));
    }
  }
}

}  // namespace mtf
