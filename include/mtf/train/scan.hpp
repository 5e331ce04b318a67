#pragma once
// Equal layers: one body, applied once for each.
#include <array>
#include <cstddef>
#include <vector>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

namespace detail {

/// Not constexpr: a plan whose layers differ in what they send backwards ends here.
inline void layers_send_different_things_backwards() {}

/// A contribution to a tensor's gradient, as far as what is done with it depends on it.
struct contribution_state {
  axis_mask partial = 0;
  bool shared = false, sum_is_known = false;
  bool operator==(contribution_state const&) const = default;
};
template <class T>
constexpr std::vector<contribution_state> contributions_of(ref<gradient_slot<trace, T>> const& slot) {
  std::vector<contribution_state> all;
  if (slot)
    slot->each(
        [&](auto const& g) { all.push_back({g.partial, !g.memory.unique(), g.memory->sum.is_over(g.partial)}); });
  return all;
}

/// A group of equal layers on the tape. Its nodes lie between two marks: running backwards, the plan's loop begins at
/// the end. One run stands for all, so the gradient must leave the group as it enters it.
///
/// If layers are taken to be equal, the first stands for those after it too, whose input is made by a layer and held by
/// nobody else. So the first one's input must either be free when the layer has run backwards, as theirs is; or, if a
/// layer keeps its result, which is the next one's input, must still be held: then the loop holds it.
///
/// If the last layer is taken to be equal too, the gradient enters as it leaves what follows the layers. It must be
/// reduced then, here and between layers, for all to send the same. Memory may differ: if the others share theirs where
/// this one does not, they copy what this one need not.
template <class T>
struct layer_loop {
  int references = 1;
  trace* on;
  std::size_t count;
  ref<gradient_slot<trace, T>> in, out;
  backend::block<trace>* input = nullptr;
  buffer<trace> held{};
  std::vector<contribution_state> entering{};

  // Not inlined: GCC 12 then takes the other reference's count for one in freed memory, and warns.
  [[gnu::cold, gnu::noinline]] constexpr void unreferenced() { delete this; }
  constexpr void begin() {
    entering = contributions_of(out);
    if (count > 1 && !contributions_of(in).empty()) on->found_layers_to_differ();  // the input is used elsewhere
    on->begin_loop(count);
  }
  constexpr void end() {
    bool const is_left = input != nullptr && !held && input->references > 0;
    on->end_loop();
    held = {};
    if (count == 1) return;
    auto const leaving = contributions_of(in);
    if (on->alike() == alike_layers::all) {
      if (!stands_for_others(leaving)) on->found_layers_to_differ();
    } else if (on->alike() == alike_layers::all_but_last) {
      if (is_left || leaving != entering) on->found_layers_to_differ();
    } else if (in && !are_partial_alike(leaving)) {
      layers_send_different_things_backwards();
    }
  }

 private:
  [[nodiscard]] constexpr bool stands_for_others(std::vector<contribution_state> const& leaving) const {
    if (leaving.size() != entering.size()) return false;
    for (std::size_t i = 0; i < leaving.size(); ++i)
      if (leaving[i].partial != 0 || entering[i].partial != 0 || (entering[i].shared && !leaving[i].shared))
        return false;
    return true;
  }
  [[nodiscard]] constexpr bool are_partial_alike(std::vector<contribution_state> const& leaving) const {
    if (leaving.size() != entering.size()) return false;
    for (std::size_t i = 0; i < leaving.size(); ++i)
      if (leaving[i].partial != entering[i].partial) return false;
    return true;
  }
};
template <class T>
struct layer_loop_end {
  ref<layer_loop<T>> loop;
  constexpr void run() { loop->begin(); }
};
template <class T>
struct layer_loop_begin {
  ref<layer_loop<T>> loop;
  constexpr void run() { loop->end(); }
};

template <class Backend, class S>
constexpr tape<Backend>* tape_of_structure(S const& s) {
  tape<Backend>* t = nullptr;
  auto const find = [&](path const&, auto const& x) {
    if (t == nullptr) t = tape_of(x.value());
  };
  walk(static_cast<void*>(nullptr), find, nullptr, s);
  return t;
}

/// Have both the same sharding, and is a gradient wanted of both, which is no parameter's, or of none?
template <class X>
constexpr bool are_alike(X const& a, X const& b) {
  if constexpr (requires { a.where(); })
    if (&a.where() != &b.where()) return false;
  auto const &s = a.value().slot, &t = b.value().slot;
  return s ? t && s->parameter < 0 && t->parameter < 0 : !t;
}

template <class Layers, class X, class Body>
constexpr X scan_traced(trace& b, Layers const& layers, X const& from, Body const& body) {
  X x = from;
  using T = typename X::element_type;
  layer_groups const groups(b, layers.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto const [at, count] = groups[g];
    auto* const t = tape_of_structure<trace>(layers[at]);
    ref<layer_loop<T>> const loop(new layer_loop<T>{.on = &b, .count = count, .in = x.value().slot, .out = {}});
    auto const mark = [&](auto m) {
      if (t != nullptr) t->push([&] { return m; });
    };
    mark(layer_loop_begin<T>{loop});
    b.begin_loop(count);
    if (count > 1 && b.alike() != alike_layers::some) {
      // By another handle it is seen whether the layer holds its input.
      auto const memory = x.value().memory;
      auto const input = part_of<T>(memory, 0);
      X const y = body(layers[at], like(x, value<trace, T>(input, x.value().slot)), at);
      bool const keeps_input = input->references > 1, keeps_result = y.value().memory->references > 1;
      if (place_of(x).spec().partial != 0 || !are_alike(x, y) || !keeps_input) b.found_layers_to_differ();
      loop->input = memory.get();
      if (keeps_result) loop->held = memory;
      x = y;
    } else {
      x = body(layers[at], x, at);
    }
    b.end_loop();
    loop->out = x.value().slot;
    mark(layer_loop_end<T>{loop});
  }
  return x;
}

}  // namespace detail

/// body(layers[n - 1], ... body(layers[1], body(layers[0], x, 0), 1) ..., n - 1): a stack of equal layers, each a
/// structure of tensors. The body returns a tensor of the type that it takes, and does the same for every layer: its
/// number is for naming random numbers. Written so, a stack of any depth costs a plan what two to four layers cost, and
/// stays a loop in it.
template <class Layer, std::size_t N, operand X, class Body>
constexpr X scan(std::array<Layer, N> const& layers, X const& from, Body const& body) {
  if constexpr (tensor_type<X>)
    if constexpr (!X::backend_type::holds_data) return detail::scan_traced(from.backend(), layers, from, body);
  X x = from;
  for (std::size_t i = 0; i < N; ++i) x = body(layers[i], x, i);
  return x;
}

}  // namespace mtf
