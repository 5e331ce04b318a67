#pragma once
// Tensors: global logical arrays whose type says how they are split.
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/tensor/valid_layout.hpp>

namespace mtf {

template <class T, class Shape, class Layout, class Partial = partial<>, class Backend = trace>
class tensor;

namespace detail {

/// Not constexpr: a plan of such a program ends here. `what`: the tensor in the user's words.
[[noreturn]] inline void has_no_value(std::string const& what, sharding const& tensor) {
  std::string dims;
  for (int d = 0; d < tensor.ndim; ++d) dims += (d == 0 ? "" : ", ") + std::string(tensor[d].name);
  throw user_error(
      what + " [" + dims +
      "] has no value: it was declared and never filled; fill it by mtf::zeros, mtf::from_global, a random "
      "initialization or the result of an operation");
}

/// What a tensor's type says, but for its backend. Rules are asked of descriptions: a program that is planned, and runs
/// on one backend or two, computes each once.
template <class T, class Shape, class Layout, class Partial>
struct described {
  using description = described;
  using element_type = T;
  using shape_type = Shape;
  using layout_type = Layout;
  using partial_type = Partial;
  using mesh_type = typename Layout::mesh_type;
  static constexpr mesh_shape mesh = mesh_type::shape();
  static constexpr sharding spec = sharding_of<Shape, Layout, Partial>;
  /// The number of elements of one rank's shard.
  static constexpr std::int64_t local_size = spec.local_size(mesh);
  template <class Backend>
  using on = tensor<T, Shape, Layout, Partial, Backend>;

  /// Does not exist.
  template <class... Given>
  static constexpr auto shape(Given const&...) {
    static_assert(never<Given...>,
                  "mtf: a tensor has no member shape(): its dimensions are part of its type, "
                  "decltype(x)::shape_type, and a dimension knows its extent, hidden::extent");
    return refused{};
  }
};

/// A gradient: not yet a tensor, though one passes it for one, which is refused in one sentence.
template <class X>
inline constexpr bool is_gradient = false;
template <class... X>
constexpr refused gradient_is_no_tensor() {
  static_assert(never<X...>,
                "mtf: a gradient is no tensor, as its sum over ranks may not be taken yet: write g.complete() for the "
                "tensor; an optimizer takes gradients as they are");
  return {};
}

}  // namespace detail

/// A global array over the dimensions of `Shape`, split over the mesh as `Layout` says; each rank holds its shard,
/// dense and row-major. Over the axes of `Partial` it is partial: each rank holds one term of a sum that is not reduced
/// yet. Copies share memory and are cheap, and are values: memory that someone else holds too is never written.
/// Refused: a layout that is not injective on the shape.
template <class T, class Shape, class Layout, class Partial, class Backend>
class tensor : public detail::described<T, Shape, Layout, Partial> {
 public:
  using checked = checked_t<tensor_verdict_t<Shape, Layout, Partial>>;
  /// What holds and computes its elements.
  using backend_type = Backend;
  using detail::described<T, Shape, Layout, Partial>::spec;
  using detail::described<T, Shape, Layout, Partial>::local_size;

  /// Holds nothing yet.
  constexpr tensor() = default;
  constexpr explicit tensor(detail::value<Backend, T> const& v) : value_(v) {
    if constexpr (!Backend::holds_data) backend().saw(spec);
  }

  /// For operations. A tensor that was never given a value is a user_error.
  [[nodiscard]] constexpr detail::value<Backend, T> const& value() const {
    if (empty()) detail::has_no_value("a tensor", spec);
    return value_;
  }
  /// For operations that use it up: its value, which it holds no more.
  [[nodiscard]] constexpr detail::value<Backend, T> release() && {
    static_cast<void>(value());
    return std::move(value_);
  }
  /// The backend that it was made with. A tensor that was never given a value is a user_error.
  [[nodiscard]] constexpr Backend& backend() const { return value().backend(); }
  /// It was never given a value.
  [[nodiscard]] constexpr bool empty() const { return !value_.memory; }

  /// The rank's shard, copied to the host.
  [[nodiscard]] std::vector<T> local() const
    requires(!std::is_same_v<T, bool>)
  {
    std::vector<T> out(static_cast<std::size_t>(local_size));
    backend().to_host(out.data(), value_.data(), out.size() * sizeof(T));
    return out;
  }

 private:
  detail::value<Backend, T> value_;
};

/// The same with a layout that is a value: its sharding is known when the program runs. So are the axes over which it
/// is partial, and its type has none.
template <class T, class Shape, std::size_t I, class Further, class Backend>
class tensor<T, Shape, any_layout<I, Further>, partial<>, Backend>
    : public detail::described<T, Shape, any_layout<I, Further>, partial<>> {
 public:
  using checked = typename Shape::checked;
  using backend_type = Backend;
  /// Unlike those of other tensors these are no constants: detail::place_of(x) knows them.
  static constexpr struct known_at_run_time {
  } spec{}, mesh{}, local_size{};

  /// Holds nothing yet.
  constexpr tensor() = default;
  constexpr tensor(detail::value<Backend, T> const& v, backend::arrangement const& where) : value_(v), where_(&where) {
    if constexpr (!Backend::holds_data) backend().saw(where.spec);
  }

  /// For operations. A tensor that was never given a value is a user_error.
  [[nodiscard]] constexpr detail::value<Backend, T> const& value() const {
    if (empty()) detail::has_no_value("a tensor", detail::described<T, Shape, any_layout<I, Further>, partial<>>::spec);
    return value_;
  }
  /// Its sharding.
  [[nodiscard]] constexpr backend::arrangement const& where() const {
    static_cast<void>(value());
    return *where_;
  }
  /// For operations that use it up: its value, which it holds no more.
  [[nodiscard]] constexpr detail::value<Backend, T> release() && {
    static_cast<void>(value());
    return std::move(value_);
  }
  /// The backend that it was made with. A tensor that was never given a value is a user_error.
  [[nodiscard]] constexpr Backend& backend() const { return value().backend(); }
  /// It was never given a value.
  [[nodiscard]] constexpr bool empty() const { return !value_.memory; }

  /// The rank's shard, copied to the host.
  [[nodiscard]] std::vector<T> local() const
    requires(!std::is_same_v<T, bool>)
  {
    std::vector<T> out(static_cast<std::size_t>(where().spec.local_size(where().layout->mesh.shape)));
    backend().to_host(out.data(), value_.data(), out.size() * sizeof(T));
    return out;
  }

 private:
  detail::value<Backend, T> value_;
  backend::arrangement const* where_ = nullptr;
};

namespace detail {

template <class X>
inline constexpr bool is_tensor = false;
template <class T, class S, class L, class P, class B>
inline constexpr bool is_tensor<tensor<T, S, L, P, B>> = true;

}  // namespace detail

/// A tensor.
template <class X>
concept tensor_type = detail::is_tensor<X>;

/// What tensor operations take besides numbers: a tensor, the trace of an earlier refusal, or what they then refuse, a
/// gradient.
template <class X>
concept operand = tensor_type<X> || std::is_same_v<X, refused> || detail::is_gradient<X>;

}  // namespace mtf
