#pragma once
// The same logical tensor, cut, ordered or named differently.
#include <mtf/ops/reduction/reduce.hpp>

namespace mtf {

namespace detail {

struct relayout_work {
  char const* name;
  sharding from, to;
  steps forward;
};

constexpr relayout_work relayout_to(char const* name, mesh_shape const& mesh, sharding const& from, sharding const& to) {
  return {name, from, to, derive_relayout(mesh, from, to)};
}

/// Backward, the gradient goes from the result's cuts to the operand's. Where it is partial it may stay so, unless the
/// operand is cut there: then a reduce-scatter completes it.
template <class Backend, class T>
class relayout_node {
 public:
  constexpr relayout_node(relayout_work const& w, ref<gradient_slot<Backend, T>> const& in, ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), in_(in), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, w_->name, w_->from);
    auto g = out_->take();
    if (!g.memory) return;
    auto from = w_->to, to = w_->from;
    from.partial = g.partial;
    to.partial = g.partial & ~to.cut_axes();
    g.memory = execute<T>(b, derive_relayout(b.ranks().mesh(), from, to), std::move(g.memory));
    in_->add({std::move(g.memory), to.partial});
  }

 private:
  relayout_work const* w_;
  ref<gradient_slot<Backend, T>> in_, out_;
};

template <class Backend, class T>
constexpr value<Backend, T> run_relayout(relayout_work const& w, value<Backend, T> const& x) {
  if (w.forward.size == 0) return x;
  operation<Backend> const here(x.backend(), w.name, w.from);
  value<Backend, T> out(execute<T>(x.backend(), w.forward, x.memory));
  record(tape_of(x), out, w.to, [&](auto const& slot) {
    return relayout_node<Backend, T>(w, x.slot, slot);
  });
  return out;
}

template <class X, class Layout>
struct relayout_rule {
  static constexpr sharding to() {
    sharding s = X::spec;
    for (int d = 0; d < s.rank; ++d) s[d].cut = Layout::cut_of(s[d].id);
    s.partial &= ~s.cut_axes();
    return s;
  }
  static constexpr relayout_work work = relayout_to("relayout", X::mesh, X::spec, to());
};

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

/// A reordering of the shard: a copy there, a copy back.
struct transpose_work {
  sharding in, out;
};

template <class Backend, class T>
class transpose_node {
 public:
  constexpr transpose_node(transpose_work const& w, ref<gradient_slot<Backend, T>> const& in, ref<gradient_slot<Backend, T>> const& out)
      : w_(&w), in_(in), out_(out) {}
  constexpr void run() {
    Backend& b = out_->owner().backend();
    operation<Backend> const here(b, "transpose", w_->in);
    auto g = out_->take();
    if (!g.memory) return;
    auto const& mesh = b.ranks().mesh();
    auto dx = make_buffer<T>(b, w_->in.local_size(mesh));
    b.copy(aligned<1>(mesh, w_->in, {w_->out}), data_of<T>(dx), static_cast<T const*>(data_of<T>(g.memory)));
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
  b.copy(aligned<1>(mesh, w.out, {w.in}), out.data(), static_cast<T const*>(x.data()));
  record(tape_of(x), out, w.out, [&](auto const& slot) {
    return transpose_node<Backend, T>(w, x.slot, slot);
  });
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

/// The same tensor with all its sums taken. One all-reduce over the axes over which it is partial; free if it is not.
template <operand X>
constexpr auto complete(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using out = tensor<typename X::element_type, typename X::shape_type, typename X::layout_type, partial<>,
                       typename X::backend_type>;
    detail::operation<typename X::backend_type> const here(x.backend(), "complete", X::spec);
    return out(detail::completed_value(x.value(), X::spec, X::spec.partial));
  }
}

/// The same tensor cut as `Layout` says, on the same mesh. Sends what the change needs and no more: nothing for a slice;
/// an all-gather, all-to-all, permute, or for partial tensors a reduce-scatter (design 5's table). Sums over axes that cut
/// a dimension afterwards are completed on the way; others stay partial. Backward: the reverse.
template <layout_type Layout, operand X>
constexpr auto relayout(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using meshes = std::conditional_t<std::is_same_v<typename Layout::mesh_type, typename X::mesh_type>, ok,
                                      error_different_meshes<typename X::mesh_type, typename Layout::mesh_type>>;
    using verdict = detail::first_failed_t<meshes, tensor_verdict_t<typename X::shape_type, Layout>>;
    if constexpr (!verdict::value) {
      detail::require<verdict>{};
      return refused{};
    } else {
      using rule = detail::relayout_rule<typename X::description, Layout>;
      using out = tensor<typename X::element_type, typename X::shape_type, Layout,
                         detail::partial_of<typename X::mesh_type, rule::work.to.partial>, typename X::backend_type>;
      return out(detail::run_relayout(rule::work, x.value()));
    }
  }
}

/// The same tensor with dimension `From` called `To`, of the same extent. It is cut as the layout says of `To`: renaming
/// is also how one dimension meets itself, e.g. as the queries and the keys of attention. Communication as for
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

/// The same tensor stored in another order: a local copy.
template <dimension... Dims, operand X>
constexpr auto transpose(X const& x) {
  if constexpr (std::is_same_v<X, refused>) {
    return refused{};
  } else {
    using order = shape<Dims...>;
    using verdict = detail::first_failed_t<
        shape_verdict_t<Dims...>, detail::named_dims_t<typename X::shape_type, Dims...>,
        std::conditional_t<sizeof...(Dims) == X::shape_type::rank, ok, error_shapes_differ<typename X::shape_type, order>>>;
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

/// The tensor as a constant: nothing flows back through it.
template <operand X>
constexpr auto stop_gradient(X x) {
  if constexpr (std::is_same_v<X, refused>)
    return x;
  else
    return X(detail::value<typename X::backend_type, typename X::element_type>(x.value().memory));
}

}  // namespace mtf
