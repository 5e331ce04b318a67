#pragma once
// Tensors as files see them: a name, an element type, and which of the whole tensor's bytes are on this rank.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mtf/backend/concept.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// A tensor that is written or read. (Functions by pointer: a std::function for each would take a while to compile.)
struct stored_tensor {
  std::string name;
  element type;
  sharding where;
  void* tensor;
  void* backend = nullptr;  // to be read on
  void* (*find_memory)(void* tensor) = nullptr;
  void* (*make_memory)(void* tensor, void* backend) = nullptr;
  void (*copy_to_host)(void const* tensor, void* to) = nullptr;
  void (*copy_from_host)(void* tensor, void const* from) = nullptr;

  /// The rank's shard, if the host can read it where it is; else null.
  [[nodiscard]] char const* memory() const { return static_cast<char const*>(find_memory(tensor)); }
  void to_host(void* to) const { copy_to_host(tensor, to); }
  /// Gives the tensor memory of its own; where it is, if the host can write there, else null.
  [[nodiscard]] char* fresh_memory() const { return static_cast<char*>(make_memory(tensor, backend)); }
  void from_host(void const* from) const { copy_from_host(tensor, from); }
  [[nodiscard]] std::size_t element_size() const { return static_cast<std::size_t>(bytes_of(type)); }
  [[nodiscard]] std::uint64_t bytes() const {
    return static_cast<std::uint64_t>(where.global_size()) * static_cast<std::uint64_t>(bytes_of(type));
  }
  [[nodiscard]] std::size_t shard_bytes(mesh_shape const& mesh) const {
    return static_cast<std::size_t>(where.local_size(mesh)) * element_size();
  }
  [[nodiscard]] std::vector<std::int64_t> shape() const {
    std::vector<std::int64_t> extents(static_cast<std::size_t>(where.ndim));
    for (int d = 0; d < where.ndim; ++d) extents[static_cast<std::size_t>(d)] = where[d].extent;
    return extents;
  }
};

/// Tensors that are stored under one name: NAME.safetensors.
struct stored_part {
  std::string name;
  std::vector<stored_tensor> tensors;
};

/// "blocks.3.w1" and a suffix: "blocks.3.w1.exp_avg"; a tensor by itself is its suffix.
inline std::string stored_name(std::string_view path, std::string_view suffix) {
  std::string name(path);
  if (!suffix.empty()) name += (name.empty() ? "" : ".") + std::string(suffix);
  return name;
}

/// What has tensors in several structures, such as an optimizer, tells of each with the suffix of their names.
struct no_visitor {
  template <class S>
  void operator()(std::string_view, S&) const {}
};
template <class T>
concept has_state = requires(T& x, no_visitor const& f) { x.visit_state(f); };

/// Calls f(name, x) for each tensor, and for each other `x.value`, a number that all ranks have; what has neither,
/// where nothing is kept, is passed over.
template <class T, class F>
void for_each_stored(T& what, F const& f) {
  auto const structure = [&](std::string_view suffix, auto& of) {
    for_each_tensor(
        [&](std::string_view path, auto& x) {
          if constexpr (requires { x.value; } || tensor_type<std::remove_cvref_t<decltype(x)>>)
            f(stored_name(path, suffix), x);
        },
        of);
  };
  if constexpr (has_state<T>)
    what.visit_state(structure);
  else
    structure("", what);
}

template <class X>
std::size_t shard_bytes_of(X const& x) {
  return static_cast<std::size_t>(place_of(x).local_size()) * sizeof(typename X::element_type);
}
template <class X>
void* shard_memory(void* tensor) {
  if constexpr (tensor_type<X>) {
    if constexpr (memory_is_the_hosts<typename X::backend_type>) return static_cast<X*>(tensor)->value().data();
  }
  return nullptr;
}
template <class X, class Backend>
void* fresh_shard(void* tensor, [[maybe_unused]] void* backend) {
  if constexpr (tensor_type<X>) {
    auto& b = *static_cast<Backend*>(backend);
    auto const place = place_for<X>(b);
    *static_cast<X*>(tensor) = place.tensor(make_value<typename X::element_type>(b, place.local_size()));
  }
  return shard_memory<X>(tensor);
}
template <class X>
void shard_to_host(void const* tensor, void* to) {
  auto const& x = *static_cast<X const*>(tensor);
  if constexpr (tensor_type<X>)
    x.backend().to_host(to, x.value().data(), shard_bytes_of(x));
  else
    *static_cast<std::int64_t*>(to) = x.value;
}
template <class X>
void shard_from_host(void* tensor, void const* from) {
  auto& x = *static_cast<X*>(tensor);
  if constexpr (tensor_type<X>)
    x.backend().from_host(x.value().data(), from, shard_bytes_of(x));
  else
    x.value = static_cast<decltype(x.value)>(*static_cast<std::int64_t const*>(from));
}

/// The tensors of a structure, to be written. The structure stays while they are used.
template <class T>
std::vector<stored_tensor> tensors_to_write(T& from) {
  std::vector<stored_tensor> all;
  for_each_stored(from, [&](std::string const& name, auto& x) {
    using X = std::remove_cvref_t<decltype(x)>;
    stored_tensor t{name, element::i64, {}, const_cast<X*>(&x), nullptr, &shard_memory<X>, nullptr, &shard_to_host<X>};
    if constexpr (tensor_type<X>) {
      t.type = element_of<typename X::element_type>;
      if (x.empty()) has_no_value("the tensor " + name, place_of(x).spec());
      t.where = place_of(x).spec();
    }
    all.push_back(t);
  });
  return all;
}
/// The same, to be read.
template <class T, class Backend>
std::vector<stored_tensor> tensors_to_read(T& to, Backend& b) {
  std::vector<stored_tensor> all;
  for_each_stored(to, [&](std::string const& name, auto& x) {
    using X = std::remove_cvref_t<decltype(x)>;
    stored_tensor t{name, element::i64, {}, &x, &b, nullptr, &fresh_shard<X, Backend>, nullptr, &shard_from_host<X>};
    if constexpr (tensor_type<X>) {
      t.type = element_of<typename X::element_type>;
      t.where = place_for<X>(b).spec();
    }
    all.push_back(t);
  });
  return all;
}

// Not by braces: nvcc 13.0 loses a pack that is expanded inside of two.
template <class... Part>
std::vector<stored_part> parts_to_write(Part const&... parts) {
  std::vector<stored_part> all;
  (all.push_back(stored_part{parts.name, tensors_to_write(parts.what)}), ...);
  return all;
}
template <class Backend, class... Part>
std::vector<stored_part> parts_to_read([[maybe_unused]] Backend& b, Part const&... parts) {
  std::vector<stored_part> all;
  (all.push_back(stored_part{parts.name, tensors_to_read(parts.what, b)}), ...);
  return all;
}

/// Calls f(at, mine, count) for each contiguous range of the rank's shard, in order: `count` elements from element `at`
/// of the whole tensor on, and from `mine` of the shard on.
template <class F>
void for_each_range(sharding const& s, mesh_shape const& mesh, int rank, F&& f) {
  auto const p = placement_of(s, mesh, rank);
  auto const& l = p.local;
  auto const last = static_cast<std::size_t>(l.ndim - 1);
  index const count = l.stride[0][last] == 1 ? l.extent[last] : 1;
  index const size = s.local_size(mesh);
  std::array<index, max_dims> position{};
  for (index at = p.offset, mine = 0; mine < size; mine += count) {
    f(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(mine), static_cast<std::uint64_t>(count));
    for (std::size_t d = count == 1 ? last + 1 : last; d-- > 0;) {
      at += l.stride[0][d];
      if (++position[d] < l.extent[d]) break;
      at -= l.extent[d] * l.stride[0][d];
      position[d] = 0;
    }
  }
}

/// Of the ranks that hold the same shard, the first: it writes.
inline bool is_first_replica(sharding const& s, mesh_shape const& mesh, int rank) {
  return mesh.index_within(rank, ~s.split_axes()) == 0;
}

}  // namespace mtf::detail
