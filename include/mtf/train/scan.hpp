#pragma once
// Equal layers: one body, applied once for each.
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/tape.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/structure_slots.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/stack.hpp>
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
/// Of each slot.
template <class Slots>
constexpr std::vector<std::vector<contribution_state>> contributions_of(Slots const& slots) {
  std::vector<std::vector<contribution_state>> all;
  slots.each([&](auto const& slot) {
    all.emplace_back();
    if (slot)
      slot->each([&](auto const& g) {
        all.back().push_back({g.partial, !g.memory.unique(), g.memory->sum.is_over(g.partial)});
      });
  });
  return all;
}
template <class X>
constexpr auto carried_slots(X const& x) {
  structure_slots<backend_in_t<X>> all;
  each_tensor(
      [&](auto const& tensor) {
        if constexpr (is_floating<typename std::remove_cvref_t<decltype(tensor)>::element_type>)
          all.push(tensor.value().slot);
      },
      x);
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
template <class Trace>  // a template, though Trace is `trace`: programs that plan nothing need not compile it
struct layer_loop {
  /// The memory of one of the tensors that a layer takes, and a hold on it if its result is held.
  struct carried {
    backend::block<Trace>* input = nullptr;
    buffer<Trace> held{};
  };
  int references = 1;
  Trace* on;
  std::size_t count;
  structure_slots<Trace> in, out{};
  std::vector<carried> inputs{};
  std::vector<std::vector<contribution_state>> entering{};

  // Not inlined: GCC 12 then takes the other reference's count for one in freed memory, and warns.
  [[gnu::cold, gnu::noinline]] constexpr void unreferenced() { delete this; }
  constexpr void begin() {
    entering = contributions_of(out);
    for (auto const& used_elsewhere : contributions_of(in))
      if (count > 1 && !used_elsewhere.empty()) on->found_layers_to_differ();
    on->begin_loop(count);
  }
  constexpr void end() {
    bool is_left = false;
    for (auto const& c : inputs) is_left = is_left || (c.input != nullptr && !c.held && c.input->references > 0);
    on->end_loop();
    inputs.clear();
    if (count == 1) return;
    auto const leaving = contributions_of(in);
    if (on->alike() == alike_layers::all) {
      if (!stands_for_others(leaving)) on->found_layers_to_differ();
    } else if (on->alike() == alike_layers::all_but_last) {
      if (is_left || leaving != entering) on->found_layers_to_differ();
    } else if (!are_partial_alike(leaving)) {
      layers_send_different_things_backwards();
    }
  }

 private:
  using contributions = std::vector<std::vector<contribution_state>>;
  [[nodiscard]] constexpr bool stands_for_others(contributions const& leaving) const {
    return matches(leaving, [](auto const& left, auto const& entered) {
      return left.partial == 0 && entered.partial == 0 && (!entered.shared || left.shared);
    });
  }
  /// Of tensors that have gradients.
  [[nodiscard]] constexpr bool are_partial_alike(contributions const& leaving) const {
    return matches(leaving, [](auto const& left, auto const& entered) { return left.partial == entered.partial; });
  }
  template <class Same>
  [[nodiscard]] constexpr bool matches(contributions const& leaving, Same const& same) const {
    for (std::size_t k = 0; k < leaving.size(); ++k) {
      if (leaving[k].size() != entering[k].size()) return false;
      for (std::size_t i = 0; i < leaving[k].size(); ++i)
        if (!same(leaving[k][i], entering[k][i])) return false;
    }
    return true;
  }
};
template <class Trace>
struct layer_loop_end {
  ref<layer_loop<Trace>> loop;
  constexpr void run() { loop->begin(); }
};
template <class Trace>
struct layer_loop_begin {
  ref<layer_loop<Trace>> loop;
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

/// x, whose tensors have their memory by handles of their own: by these it is seen whether a layer holds them.
template <class X>
constexpr X by_handles(X const& of, std::vector<buffer<backend_in_t<X>>>& handles) {
  X x = of;
  each_tensor(
      [&](auto& tensor) {
        using T = typename std::remove_cvref_t<decltype(tensor)>::element_type;
        handles.push_back(part_of<T>(tensor.value().memory, 0));
        tensor = like(tensor, value<backend_in_t<X>, T>(handles.back(), tensor.value().slot));
      },
      x);
  return x;
}

/// The tape of layers that have none: of the tensors that go through them.
template <class Backend, class Layer, class X>
constexpr tape<Backend>* tape_of_layer(Layer const& layer, [[maybe_unused]] X const& x) {
  if constexpr (requires { layer.tape_at(x); })
    return layer.tape_at(x);
  else
    return tape_of_structure<Backend>(layer);
}

template <class Layers, class X, class Body>
constexpr X scan_traced(trace& b, Layers const& layers, X const& from, Body const& body) {
  using on = backend_in_t<X>;
  X x = from;
  layer_groups const groups(b, layers.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    auto const [at, count] = groups[g];
    auto* const t = tape_of_layer<on>(layers[at], x);
    ref<layer_loop<on>> const loop(new layer_loop<on>{.on = &b, .count = count, .in = carried_slots(x)});
    auto const mark = [&](auto m) {
      if (t != nullptr) t->push([&] { return m; });
    };
    mark(layer_loop_begin<on>{loop});
    b.begin_loop(count);
    if (count > 1 && b.alike() != alike_layers::some) {
      std::vector<buffer<on>> handles;
      X const y = body(layers[at], by_handles(x, handles), at);
      std::size_t i = 0;
      each_tensor(
          [&](auto const& in, auto const& out) {
            auto const& memory = in.value().memory;
            bool const keeps_input = handles[i++]->references > 1, keeps_result = out.value().memory->references > 1;
            if (place_of(in).spec().partial != 0 || !are_alike(in, out) || !keeps_input) b.found_layers_to_differ();
            loop->inputs.push_back({.input = memory.get()});
            if (keeps_result) loop->inputs.back().held = memory;
          },
          std::as_const(x), y);
      x = y;
    } else {
      x = body(layers[at], x, at);
    }
    b.end_loop();
    loop->out = carried_slots(x);
    mark(layer_loop_end<on>{loop});
  }
  return x;
}

}  // namespace detail

/// body(layers[n - 1], ... body(layers[1], body(layers[0], x, 0), 1) ..., n - 1): a stack of equal layers, each a
/// structure of tensors. The body returns what it takes, a tensor or a structure of tensors (MTF_FIELDS), of the same
/// type, and does the same for every layer: its number is for naming random numbers. So what layers add up besides, as
/// the loss that balances experts, is a field. Written so, a stack of any depth costs a plan what two to four layers
/// cost, and stays a loop in it.
///
/// `layers`: a std::array, or an mtf::stack, whose number of layers may be a value; one that does not know it yet is a
/// user_error.
template <class Layers, class X, class Body>
  requires detail::are_layers<Layers> && (operand<X> || detail::fields<X>)
constexpr X scan(Layers const& layers, X const& from, Body const& body) {
  if constexpr (detail::is_resizable<Layers>)
    if (!layers.is_sized()) detail::not_sized(Layers::count_type::name);
  if constexpr (std::is_same_v<detail::backend_in_t<X>, trace>) {
    trace* on = nullptr;
    detail::each_tensor([&](auto const& x) { on = &x.backend(); }, from);
    return detail::scan_traced(*on, layers, from, body);
  }
  X x = from;
  for (std::size_t i = 0; i < layers.size(); ++i) x = body(layers[i], x, i);
  return x;
}

}  // namespace mtf
