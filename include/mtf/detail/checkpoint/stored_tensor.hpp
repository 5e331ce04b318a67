#pragma once
// Tensors as files see them: a name, an element type, and which of the whole tensor's bytes are on this rank.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/concept.hpp>
#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/sharding/pads.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf::detail {

/// How files reach tensors of one type, or a number that all ranks have, without the type: what reads and writes
/// them is compiled once. (By pointers: a std::function for each would take a while to compile.)
struct stored_access {
  mtf::element element = mtf::element::i64;
  bool (*is_empty)(void const* tensor) = nullptr;
  sharding (*where_is)(void const* tensor) = nullptr;
  sharding (*where_on)(void* backend) = nullptr;  // a new one on it
  void const* backend_type = nullptr;             // which one it is: backend_type_of
  // The rank's shard, if the host can read and write it where it is; else null.
  void* (*memory)(void* tensor) = nullptr;
  void* (*new_memory)(void* tensor, void* backend) = nullptr;  // the same, of memory of its own
  void (*to_host)(void const* tensor, void* to) = nullptr;
  void (*from_host)(void* tensor, void const* from) = nullptr;
};

/// Tells types of backends apart, by its address.
template <class Backend>
inline constexpr char backend_type_of = 0;

/// What tensors are to be read on: a backend without its type; none: they are to be written.
struct stored_on {
  void* backend = nullptr;
  void const* type = nullptr;
  backend::layout_table const* layouts = nullptr;
};

/// Where the elements of a tensor are in the array that files have of it, or of several.
struct stored_form {
  std::vector<std::int64_t> shape{};              // the array's
  std::vector<int> order{};                       // the tensor's dimensions as the array has them, outermost first
  std::array<backend::index, max_dims> stride{};  // of the tensor's dimensions, in elements of the array
  backend::index offset = 0;
};

/// A tensor that is written or read.
struct stored_tensor {
  std::string name;  // the structure's
  stored_access const* access;
  void* tensor;
  sharding where{};
  void* backend = nullptr;  // to be read on
  // As another tool's files have it: the array, its name where a prefix is left out, and the form there.
  std::string stored{}, stored_without_prefix{};
  std::optional<stored_form> form{};

  [[nodiscard]] std::string const& array() const { return stored.empty() ? name : stored; }
  [[nodiscard]] mtf::element element() const { return access->element; }
  [[nodiscard]] char const* memory() const { return static_cast<char const*>(access->memory(tensor)); }
  [[nodiscard]] char* new_memory() const { return static_cast<char*>(access->new_memory(tensor, backend)); }
  void to_host(void* to) const { access->to_host(tensor, to); }
  void from_host(void const* from) const { access->from_host(tensor, from); }
  [[nodiscard]] std::size_t element_size() const { return static_cast<std::size_t>(bytes_of(element())); }
  /// Of the array that files have of it.
  [[nodiscard]] std::uint64_t array_bytes() const {
    auto bytes = static_cast<std::uint64_t>(element_size());
    for (auto const n : shape()) bytes *= static_cast<std::uint64_t>(n);
    return bytes;
  }
  [[nodiscard]] std::size_t shard_bytes(mesh_shape const& mesh) const {
    return static_cast<std::size_t>(where.local_size(mesh)) * element_size();
  }
  /// Of that array.
  [[nodiscard]] std::vector<std::int64_t> shape() const {
    if (form) return form->shape;
    std::vector<std::int64_t> extents(static_cast<std::size_t>(where.ndim));
    for (int d = 0; d < where.ndim; ++d) extents[static_cast<std::size_t>(d)] = where[d].logical();
    return extents;
  }
};

/// Tensors that are stored under one name: NAME.safetensors.
struct stored_part {
  std::string name;
  std::vector<stored_tensor> tensors;
};

/// One more, called by its path and a suffix: "blocks.3.w1", "blocks.3.w1.exp_avg". A user_error: one without a value
/// that is to be written; a backend that is none of its type.
MTF_CHECKPOINT_CODE void add_tensor(std::vector<stored_tensor>& all, path const& at, std::string_view suffix,
                                    void* tensor, stored_access const& access, stored_on on);

/// These parts, of which no two have one name, and no two of their tensors either: that is a user_error.
MTF_CHECKPOINT_CODE std::vector<stored_part> with_names_of_their_own(std::vector<stored_part> parts);

/// What has tensors in several structures, such as an optimizer, names each structure with the suffix of its tensors'
/// names.
struct no_visitor {
  template <class S>
  void operator()(std::string_view, S&) const {}
};
template <class T>
concept has_state = requires(T& x, no_visitor const& f) { x.visit_state(f); };

template <class X>
bool is_empty_tensor(void const* tensor) {
  return static_cast<X const*>(tensor)->empty();
}
template <class X>
sharding place_of_tensor(void const* tensor) {
  return place_of(*static_cast<X const*>(tensor)).spec();
}
template <class X>
sharding place_on_backend(void* backend) {
  return place_for<X>(*static_cast<typename X::backend_type*>(backend)).spec();
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
template <class X>
void* new_shard_memory(void* tensor, [[maybe_unused]] void* backend) {
  if constexpr (tensor_type<X>) {
    auto& b = *static_cast<typename X::backend_type*>(backend);
    auto const place = place_for<X>(b);
    *static_cast<X*>(tensor) = place.tensor(make_value<typename X::element_type>(b, place.local_size()));
    zero_pads(b, place.spec(), static_cast<X*>(tensor)->value().data());
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
template <class X>
constexpr stored_access make_access() {
  stored_access t;
  if constexpr (tensor_type<X>)
    t = {element_of<typename X::element_type>, &is_empty_tensor<X>, &place_of_tensor<X>, &place_on_backend<X>,
         &backend_type_of<typename X::backend_type>};
  t.memory = &shard_memory<X>;
  t.new_memory = &new_shard_memory<X>;
  t.to_host = &shard_to_host<X>;
  t.from_host = &shard_from_host<X>;
  return t;
}
template <class X>
inline constexpr stored_access access_to = make_access<X>();

/// Whether there is anything to write, or to read.
template <class X>
bool is_stored([[maybe_unused]] X const& x, [[maybe_unused]] stored_on on) {
  using backend_type = typename X::backend_type;
  if constexpr (may_be_not_kept<X>) {
    if (on.backend == nullptr) return !x.empty();
    if (on.type == &backend_type_of<backend_type>) return is_kept_on<X>(*static_cast<backend_type*>(on.backend));
  }
  return true;
}

/// The tensors of a structure, and each other `x.value`, a number that all ranks have; what has neither, where nothing
/// is kept, is passed over. The structure stays while they are used.
template <class T>
std::vector<stored_tensor> stored_tensors(T& what, stored_on on) {
  std::vector<stored_tensor> all;
  given_extents const given{on.layouts};
  auto const structure = [&](std::string_view suffix, auto& of) {
    auto const add = [&](path const& at, auto& x) {
      using X = std::remove_cvref_t<decltype(x)>;
      if constexpr (tensor_type<X>)
        if (!is_stored(x, on)) return;
      if constexpr (requires { x.value; } || tensor_type<X>)
        add_tensor(all, at, suffix, const_cast<X*>(&x), access_to<X>, on);
    };
    walk(on.layouts == nullptr ? nullptr : &given, add, nullptr, of);
  };
  if constexpr (has_state<T>)
    what.visit_state(structure);
  else
    structure("", what);
  return all;
}

// Not by braces: nvcc 13.0 loses a pack that is expanded inside of two.
template <class... Part>
std::vector<stored_part> parts_to_write(Part const&... parts) {
  std::vector<stored_part> all;
  (all.push_back(stored_part{parts.name, stored_tensors(parts.what, {})}), ...);
  return with_names_of_their_own(std::move(all));
}
template <class Backend, class... Part>
std::vector<stored_part> parts_to_read([[maybe_unused]] Backend& b, Part const&... parts) {
  std::vector<stored_part> all;
  (all.push_back(stored_part{parts.name, stored_tensors(parts.what, {&b, &backend_type_of<Backend>, &b.layouts()})}),
   ...);
  return with_names_of_their_own(std::move(all));
}

/// Which rank writes a shard that several hold. They take turns: for each tensor, the one that writes least so far.
class turns_of_replicas {
 public:
  /// Whether this rank writes its shard of the next tensor.
  bool mine(stored_tensor const& t, mesh_shape const& mesh, int rank) {
    axis_mask const over = ~t.where.split_axes();
    auto& written = written_[over];
    written.resize(static_cast<std::size_t>(mesh.size(over)));
    auto const next = std::min_element(written.begin(), written.end());
    *next += t.shard_bytes(mesh);
    return mesh.index_within(rank, over) == next - written.begin();
  }

 private:
  std::map<axis_mask, std::vector<std::uint64_t>> written_;  // bytes, of each replica
};

}  // namespace mtf::detail
