#pragma once
// What a backend is: memory, collectives between its ranks, notes of what is going on, and `run`, which does a
// primitive. How to write one: docs/design/backends.md, "Writing a backend"; backend/host.hpp has all but `run` for
// memory of the host.
#include <concepts>
#include <cstddef>
#include <string>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/object_pool.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf {

/// B says that its memory is the host's, and is written when what was asked of the backend returns: files are then read
/// and written in place. A backend need not say.
template <class B>
inline constexpr bool memory_is_the_hosts = false;
template <class B>
  requires requires { B::memory_is_the_hosts; }
inline constexpr bool memory_is_the_hosts<B> = B::memory_is_the_hosts;

/// Memory of one rank. What `release` gets may be handed out again at once: work is done in the order in which it was
/// asked for. `to_host` and `from_host` return when the data has arrived. A backend whose work goes on when calls have
/// returned may have start_to_host(from, bytes) too: what that gives waits in `arrived()` (host_copy).
template <class B>
concept backend_memory = requires(B& b, void* p, void const* from, std::size_t bytes) {
  { b.allocate(bytes) } -> std::same_as<void*>;
  { b.release(p, bytes) } noexcept;
  b.to_host(p, from, bytes);
  b.from_host(p, from, bytes);
};

/// One rank among others, on memory of the backend; as in class collectives. `request` is what `start` returns.
template <class B>
concept backend_collectives = requires(B& b, collective const& c, void const* in, void* out) {
  { b.ranks().mesh() } -> std::convertible_to<mesh_shape const&>;
  { b.ranks().mesh_text() } -> std::convertible_to<std::string>;
  { b.ranks().rank() } -> std::convertible_to<int>;
  b.communicate(c, in, out);
  { b.start(c, in, out) } -> std::same_as<typename B::request>;
  b.wait(b.start(c, in, out));
};

/// Told what is going on; a backend need not listen.
template <class B>
concept backend_listens = requires(B& b, sharding const& tensor, float const* made) {
  b.enter(operation_label("einsum"), tensor);
  b.leave();
  { b.change(pass::backward) } -> std::same_as<pass>;
  b.made(made, tensor);
};

/// Everything that operations ask of a backend. `run` is asked for each primitive that a program uses, and for no
/// other. `holds_data` is false of the trace alone; the others give the library memory for its small objects on the
/// host.
template <class B>
concept computes = backend_memory<B> && backend_collectives<B> && backend_listens<B> && requires(B& b) {
  { B::holds_data } -> std::convertible_to<bool>;
  { b.layouts() } -> std::same_as<backend::layout_table&>;
  b.run(primitives::fill<float>{nullptr, 0, 0});
} && (!B::holds_data || requires(B& b) {
                     { b.objects() } -> std::same_as<backend::object_pool&>;
                   });

}  // namespace mtf
