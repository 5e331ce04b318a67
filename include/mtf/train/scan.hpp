#pragma once
// Equal layers: one body, applied once for each.
#include <array>
#include <cstddef>
#include <vector>

#include <mtf/backend/ref.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

namespace detail {

/// Not constexpr: a plan whose layers differ in what they send backwards ends here.
inline void layers_send_different_things_backwards() {}

/// A tensor's gradient, so far: over which axes its contributions are partial.
template <class T>
constexpr std::vector<axis_mask> partial_axes(ref<gradient_slot<trace, T>> const& slot) {
  std::vector<axis_mask> all;
  if (slot) slot->each([&](auto const& g) { all.push_back(g.partial); });
  return all;
}

/// A group of equal layers on the tape. Its nodes lie between two marks: running backwards, the plan's loop begins at
/// the end. One run stands for all, so the gradient must leave the group as it enters it.
template <class T>
struct layer_loop {
  int references = 1;
  trace* on;
  std::size_t count;
  ref<gradient_slot<trace, T>> in, out;
  std::vector<axis_mask> entering{};

  // Not inlined: GCC 12 then takes the other reference's count for one in freed memory, and warns.
  [[gnu::cold, gnu::noinline]] constexpr void unreferenced() { delete this; }
  constexpr void begin() {
    entering = partial_axes(out);
    on->begin_loop(count);
  }
  constexpr void end() {
    on->end_loop();
    if (count > 1 && in && partial_axes(in) != entering) layers_send_different_things_backwards();
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

template <class Layers, class X, class Body>
constexpr X scan_traced(trace& b, Layers const& layers, X const& from, Body const& body) {
  X x = from;
  using T = typename X::element_type;
  for (std::size_t g = 0; g < layer_groups(layers.size()); ++g) {
    auto const [at, count] = layer_group_at(layers.size(), g);
    auto* const t = tape_of_structure<trace>(layers[at]);
    ref<layer_loop<T>> const loop(new layer_loop<T>{.on = &b, .count = count, .in = x.value().slot, .out = {}});
    auto const mark = [&](auto m) {
      if (t != nullptr) t->push([&] { return m; });
    };
    mark(layer_loop_begin<T>{loop});
    b.begin_loop(count);
    x = body(layers[at], x, at);
    b.end_loop();
    loop->out = x.value().slot;
    mark(layer_loop_end<T>{loop});
  }
  return x;
}

}  // namespace detail

/// body(layers[n - 1], ... body(layers[1], body(layers[0], x, 0), 1) ..., n - 1): a stack of equal layers, each a
/// structure of tensors. The body returns a tensor of the type that it takes, and does the same for every layer: its
/// number is for naming random numbers. Written so, a stack of any depth costs a plan what four layers cost, and stays
/// a loop in it.
template <class Layer, std::size_t N, operand X, class Body>
constexpr X scan(std::array<Layer, N> const& layers, X const& from, Body const& body) {
  if constexpr (tensor_type<X>)
    if constexpr (!X::backend_type::holds_data) return detail::scan_traced(from.backend(), layers, from, body);
  X x = from;
  for (std::size_t i = 0; i < N; ++i) x = body(layers[i], x, i);
  return x;
}

}  // namespace mtf
