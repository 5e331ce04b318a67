#pragma once
// The shardings of tensors, whether their layout is a type or a value.
#include <cstddef>
#include <cstdint>
#include <string>

#include <mtf/backend/layout_table.hpp>  // IWYU pragma: keep
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/arranged.hpp>

namespace mtf::detail {

/// The sharding of a tensor of type X, and the way from a value to the tensor.
template <class X>
class tensor_place {
 public:
  [[nodiscard]] static constexpr sharding const& spec() { return X::spec; }
  [[nodiscard]] static constexpr std::int64_t local_size() { return X::local_size; }
  [[nodiscard]] static constexpr X tensor(value<typename X::backend_type, typename X::element_type> const& v) {
    return X(v);
  }
};
template <class X>
  requires(by_value<X>)
class tensor_place<X> {
 public:
  constexpr tensor_place() = default;
  constexpr explicit tensor_place(arrangement const& at) : at_(&at) {}
  [[nodiscard]] constexpr sharding const& spec() const { return at_->spec; }
  [[nodiscard]] constexpr std::int64_t local_size() const { return at_->spec.local_size(at_->layout->mesh.shape); }
  [[nodiscard]] constexpr X tensor(value<typename X::backend_type, typename X::element_type> const& v) const {
    return X(v, *at_);
  }
  [[nodiscard]] constexpr arrangement const& arranged() const { return *at_; }

 private:
  arrangement const* at_ = nullptr;
};

/// The place of this tensor.
template <class X>
constexpr tensor_place<X> place_of([[maybe_unused]] X const& x) {
  if constexpr (by_value<X>)
    return tensor_place<X>(x.where());
  else
    return {};
}

/// The same place, of tensors of another element type.
template <class Y, class X>
constexpr tensor_place<Y> place_as([[maybe_unused]] tensor_place<X> const& place) {
  if constexpr (by_value<X>)
    return tensor_place<Y>(place.arranged());
  else
    return {};
}

/// How tensors of a layout that is a value are split besides: not at all.
struct as_given {
  static constexpr arrangement const& arranged(layout_table&, mesh_shape const&, arrangement const& as) { return as; }
};

/// Not constexpr: a plan on such a mesh ends here.
[[noreturn]] inline void mesh_is_not_the_backends(std::string const& layouts, std::string const& backends) {
  throw user_error("a tensor's layout is on the mesh [" + layouts + "], but the program runs on the mesh [" + backends +
                   "]: run it on the layout's mesh, such as mtf::run<my_layout::mesh_type, my_backend>, or make the "
                   "backend's collectives with that mesh");
}
/// Refuses a backend on another mesh than a tensor's: shards would be of another size, and groups other ranks. All
/// meshes of one rank are the same; and a tensor on mesh<> is whole on every rank of any mesh, as it has no axis.
template <class Backend, class Text>
constexpr void check_mesh(Backend& b, mesh_shape const& layouts, Text const& text) {
  auto const& backends = b.ranks().mesh();
  if (layouts == backends || layouts.ndim == 0 || (layouts.size() == 1 && backends.size() == 1)) return;
  mesh_is_not_the_backends(text(), b.ranks().mesh_text());
}

template <class Shape, std::size_t I, class Further, class Backend>
constexpr arrangement const& arranged_as(Backend& b, any_layout<I, Further> const*, extents_value const* extents) {
  auto& table = b.layouts();
  auto const& layout = table[I];
  check_mesh(b, layout.mesh.shape, [&] { return layout.mesh.text(); });
  return Further::arranged(table, layout.mesh.shape, arranged_under<Shape>(table, layout, extents));
}
/// The place of a tensor of this type that is made on a backend. A layout under which it cannot exist, one that the
/// backend was not given, or one on another mesh than the backend's is a user_error; so is an extent that is a value
/// and nobody gave. `extents`: those that come before the backend's.
template <class X, class Backend>
constexpr tensor_place<X> place_for(Backend& b, [[maybe_unused]] extents_value const* extents = nullptr) {
  if constexpr (by_value<X>) {
    return tensor_place<X>(
        arranged_as<typename X::shape_type>(b, static_cast<typename X::layout_type const*>(nullptr), extents));
  } else {
    check_mesh(b, X::mesh, [] { return X::mesh_type::text(); });
    return {};
  }
}

/// A tensor of this type may be one that a backend's extents say is not kept: it has no value then.
template <class Layout>
inline constexpr bool layout_says_what_is_kept = false;
template <std::size_t I, class Further>
inline constexpr bool layout_says_what_is_kept<any_layout<I, Further>> = requires { &Further::is_kept; };
template <class X>
inline constexpr bool may_be_not_kept = layout_says_what_is_kept<typename X::layout_type>;

template <std::size_t I, class Further, class Backend>
constexpr bool is_kept_under(Backend& b, any_layout<I, Further> const*) {
  return Further::is_kept(b.layouts(), b.layouts()[I]);
}
/// Whether it is kept.
template <class X, class Backend>
constexpr bool is_kept_on([[maybe_unused]] Backend& b) {
  if constexpr (may_be_not_kept<X>)
    return is_kept_under(b, static_cast<typename X::layout_type const*>(nullptr));
  else
    return true;
}

/// Another value in x's place.
template <class X>
constexpr X like(X const& x, value<typename X::backend_type, typename X::element_type> const& v) {
  return place_of(x).tensor(v);
}

}  // namespace mtf::detail
