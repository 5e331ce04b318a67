#pragma once
// The same logical tensor, cut, ordered or named differently.
#include <type_traits>
#include <utility>

#include <mtf/core/mesh.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/steps.hpp>

namespace mtf {

namespace detail {

struct relayout_work {
  char const* name;
  sharding from, to;
  steps forward;
};

constexpr relayout_work relayout_to(char const* name, mesh_shape const& mesh, sharding const& from,
                                    sharding const& to) {
  return {name, from, to, derive_relayout(mesh, from, to)};
}

/// Backward, the gradient goes from the result's cuts to the operand's. Where it is partial it may stay so, unless the
/// operand is cut there: then a reduce-scatter completes it.
template <class Backend, class T>
class relayout_node {
 public:
  constexpr relayout_node(relayout_work const& w, ref<gradient_slot<Backend, T>> const& in,
                          ref<gradient_slot<Backend, T>> const& out)
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
  record(tape_of(x), out, w.to, [&](auto const& slot) { return relayout_node<Backend, T>(w, x.slot, slot); });
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

}  // namespace detail

/// The same tensor cut as `Layout` says, on the same mesh. Sends what the change needs and no more: nothing for a
/// slice; an all-gather, all-to-all, permute, or for partial tensors a reduce-scatter (docs/design.md, "What relayouts
/// send"). Sums over axes that cut a dimension afterwards are completed on the way; others stay partial. Backward: the
/// reverse.
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

}  // namespace mtf
