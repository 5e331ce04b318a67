#pragma once
// The same logical tensor, split, ordered or named differently.
#include <cstddef>
#include <type_traits>

#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/steps.hpp>

namespace mtf {

namespace detail {

struct relayout_work : operation_work<1> {
  steps forward;

  /// The result is x, under other names at most.
  [[nodiscard]] constexpr bool keeps_memory() const { return forward.size == 0; }
};

constexpr relayout_work derive_relayout_work(mesh_shape const& mesh, sharding const& from, sharding const& to) {
  relayout_work w;
  w.in = {from};
  w.out = to;
  w.forward = derive_relayout(mesh, from, to);
  return w;
}

/// Backward, the gradient goes from the result's splits to the operand's. Over an axis that does not split the operand
/// a partial gradient stays partial; over one that does, a reduce-scatter reduces it.
template <class T>
struct relayout_operation {
  relayout_work const* work;
  char const* called;  // relayout or rename
  static constexpr std::size_t kept = 0;
  [[nodiscard]] constexpr char const* name() const { return called; }

  constexpr void forward(auto& f) const { f.out = execute<T>(f.backend, work->forward, f.memory()); }
  constexpr void backward(auto& g) const {
    auto from = work->out, to = work->in[0];
    from.partial = g.g.partial;
    g.g.partial = to.partial = from.partial & ~to.split_axes();
    g.set_dx(execute<T>(g.backend, derive_relayout(g.mesh(), from, to), g.g.memory));
  }
};

/// As run_as; x's value itself if its memory need not change.
template <class Description, class Rule, template <class> class Operation = relayout_operation, class X>
constexpr auto relaid_as(char const* name, X const& x) {
  using T = typename X::element_type;
  auto const relaid = [&](auto const& w) {
    if (w.keeps_memory()) return x.value();
    return run<T>(Operation<T>{&w, name}, x.value());
  };
  using out = typename Description::template on<typename X::backend_type>;
  if constexpr (by_value<X>) {
    auto const& derived = derived_for<Rule>(name, x);
    if constexpr (!X::backend_type::holds_data) x.backend().works_under({}, derived.out->spec, *derived.out->layout);
    return out(relaid(derived.work), *derived.out);
  } else {
    return out(relaid(work_of<Rule, typename X::description>()));
  }
}

/// A tensor of which this dimension is not split.
template <class D>
struct whole_along {
  static constexpr bool takes_pads = true;
  static constexpr sharding target(sharding s) {
    for (int d = 0; d < s.ndim; ++d)
      if (s[d].id == D::id) s[d].split = {};
    return s;
  }
  static constexpr relayout_work derive(mesh_shape const& mesh, sharding const& x) {
    return derive_relayout_work(mesh, x, target(x));
  }
};

template <class Layout>
struct relayout_call {
  /// A layout without splits is a value too where the operand's is.
  template <class X>
  using to = std::conditional_t<by_value<X> && !is_any_layout<Layout>, typename X::layout_type, Layout>;
  template <class X>
  static auto verdict()
      -> first_failed_t<std::conditional_t<std::is_same_v<typename Layout::mesh_type, typename X::mesh_type>, ok,
                                           error_different_meshes<typename X::mesh_type, typename Layout::mesh_type>>,
                        tensor_verdict_t<typename X::shape_type, to<X>>>;

  static constexpr bool takes_pads = true;
  static constexpr bool under_a_layout = true;
  using layout_type = Layout;
  template <class Under>
  static constexpr sharding target(Under const& layout, sharding const& x) {
    sharding to = x;
    for (int d = 0; d < to.ndim; ++d) to[d].split = layout.split_of(to[d].id, to[d].kin);
    to.partial &= ~to.split_axes();
    return to;
  }
  static constexpr relayout_work derive_under(auto const& layout, mesh_shape const& mesh, sharding const& x) {
    return derive_relayout_work(mesh, x, target(layout, x));
  }
  template <class X>
  constexpr auto operator()(X const& x) const {
    constexpr auto partial = work_in_types<relayout_call, typename X::description>.out.partial;
    using out =
        described<typename X::element_type, typename X::shape_type, to<X>, partial_of<typename X::mesh_type, partial>>;
    return relaid_as<out, relayout_call>("relayout", x);
  }
};

}  // namespace detail

/// The same tensor split as `Layout` says, on the same mesh. Sends what the change needs and no more: nothing for a
/// slice; an all-gather, all-to-all, permute, or for partial tensors a reduce-scatter (docs/design/states.md, "What
/// relayouts send"). Partial axes that split a dimension afterwards are reduced on the way; others stay partial.
/// Backward: the reverse. Refused: a layout of another mesh, or one under which the tensor cannot exist (two of its
/// dimensions on one axis).
template <layout_type Layout, operand X>
constexpr auto relayout(X const& x) {
  return detail::operate(detail::relayout_call<Layout>{}, x);
}

}  // namespace mtf
