#pragma once
// Optimizers' state that is split over more axes than the parameters: each rank updates a part of the parameters that
// it holds.
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/tape/completion.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/arranged.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// An optimizer's state is split over an axis that the parameters' mesh lacks.
template <class Axis, class Mesh>
struct error_no_such_axis : detail::failed {};

namespace detail {

template <class A, class M, class... By>
struct require<error_no_such_axis<A, M>, By...> {
  static_assert(never<A, M>, MTF_SENTENCE(MTF_SAYS_NO_SUCH_AXIS, A, M));
};

/// Along which of `axes` a parameter's gradient and state are split further (split_further): those that do not split
/// the parameter yet, if they divide its shard. 0 if the shard is small: such gradients go in one message.
constexpr axis_mask further_split(mesh_shape const& mesh, sharding const& parameter, std::size_t element_size,
                                  axis_mask axes) {
  axis_mask const more = axes & ~parameter.split_axes();
  bool const splits = mesh.size(more) > 1 && parameter.ndim > 0 &&
                      !is_small(parameter.local_size(mesh), element_size) &&
                      !split_further_where_it_divides(parameter, more, mesh).whole;
  return splits ? more : 0;
}

/// The bytes of an element by which state of X is small: those of the compute type, so that gradients of another type
/// than the parameters' are split in the same way.
template <class X>
inline constexpr std::size_t state_element_size = sizeof(compute_t<typename X::element_type>);

template <class Mesh, class Where>
struct axes_for {
  using type = std::conditional_t<Mesh::has(Where::id, Where::size), ok, error_no_such_axis<Where, Mesh>>;
  template <class Layout>
  static constexpr axis_mask in() {
    if constexpr (type::value)
      return 1U << static_cast<unsigned>(Mesh::find(Where::id));
    else
      return 0;
  }
};
template <class Mesh, dimension Where>
struct axes_for<Mesh, Where> {
  using type = ok;
  template <class Layout>
  static constexpr axis_mask in() {
    return Layout::split_of(Where::id, Where::kin).mask();
  }
};

}  // namespace detail

/// Over which axes the state of an optimizer is split, besides those that split the parameters: axes of the mesh, or
/// dimensions, which stand for the axes that split them. `state_split_over<batch>`: of the ranks that compute gradients
/// of different examples for the same parameters, each updates one part of these parameters, and sends it to the
/// others. Gradients are then reduced by reduce-scatters, and parameters gathered by all-gathers: as many bytes as
/// all-reduces send, and state, updates and reduced gradients are divided by the number of ranks (ZeRO; Rajbhandari et
/// al. 2020).
///
/// Split is the first dimension whose extent on a rank all of these axes divide that do not split the tensor yet; if
/// there is none, the first for each of them; and an axis that divides none splits several, which it divides together.
/// (If it is not the first dimension, parts are copied to and from messages.) State stays like the parameter where an
/// axis does not divide the shard's elements, and where a shard has up to 64 KiB in the compute type. Refused: an axis
/// that the parameters' mesh lacks.
template <class... Where>
  requires((mesh_axis<Where> || dimension<Where>) && ...)
struct state_split_over {};

namespace detail {

/// A tensor split further, as result_layout takes it.
template <class X, axis_mask Axes>
struct split_further_rule {
  static constexpr sharding out = split_further(X::spec, Axes, X::mesh);
};
/// What state_split_over says on a mesh: asked once, however many parameters there are.
template <class Mesh, class Split>
struct state_split_on;
template <class Mesh, class... Where>
struct state_split_on<Mesh, state_split_over<Where...>> {
  using checked = checked_t<first_failed_t<typename axes_for<Mesh, Where>::type...>>;
  template <class Layout>
  static constexpr axis_mask axes = (axis_mask{0} | ... | axes_for<Mesh, Where>::template in<Layout>());
};

/// The same of a layout that is a value.
template <class Where>
constexpr axis_mask axes_meant_by(layout_value const& layout) {
  if constexpr (dimension<Where>) {
    return layout.split_of(Where::id, Where::kin).mask();
  } else {
    int const axis = layout.mesh.find(Where::name);
    if (axis < 0 || layout.mesh.shape.extent[static_cast<std::size_t>(axis)] != Where::size)
      layout_is_wrong(MTF_SAYS_NO_SUCH_AXIS,
                      std::string(Where::name) + " " + std::to_string(Where::size) + ", [" + layout.mesh.text() + "]",
                      nullptr);
    return 1U << static_cast<unsigned>(axis);
  }
}
template <class... Where>
constexpr axis_mask axes_over(state_split_over<Where...> const*, [[maybe_unused]] layout_value const& layout) {
  return (axis_mask{0} | ... | axes_meant_by<Where>(layout));
}
/// Along which axes the state of a parameter is split further whose elements have this size.
template <class Split>
constexpr axis_mask further_axes(arrangement const& parameter, std::size_t element_size) {
  if constexpr (std::is_same_v<Split, state_split_over<>>) return 0;
  auto const& layout = *parameter.layout;
  return further_split(layout.mesh.shape, parameter.spec, element_size,
                       axes_over(static_cast<Split const*>(nullptr), layout));
}
/// For any_layout: tensors that are split like the state of a parameter.
template <class Split, std::size_t ElementSize>
struct split_as_state {
  static constexpr arrangement const& arranged(layout_table& table, mesh_shape const& mesh,
                                               arrangement const& parameter) {
    axis_mask const axes = further_axes<Split>(parameter, ElementSize);
    if (axes == 0) return parameter;
    return arranged_result(table, split_further(parameter.spec, axes, mesh), std::array{&parameter});
  }
};

/// Of a parameter of type X: the further splits, as axes and as a layout.
template <class X, class Split>
struct state_split {
  using mesh_type = typename X::mesh_type;
  static constexpr axis_mask axes =
      further_split(X::mesh, X::spec, state_element_size<X>,
                    state_split_on<mesh_type, Split>::template axes<typename X::layout_type>);
  using layout_type = typename result_layout<mesh_type, typename X::shape_type, split_further_rule<X, axes>,
                                             typename X::layout_type>::type;
  template <class T>
  using tensor = mtf::tensor<T, typename X::shape_type, layout_type, partial<>, typename X::backend_type>;
};
template <class Layout, class Further>
struct any_layout_as;
template <std::size_t I, class Further>
struct any_layout_as<any_layout<I>, Further> {
  using type = any_layout<I, Further>;
};
template <class X, class... Where>
  requires(by_value<X>)
struct state_split<X, state_split_over<Where...>> {
  using further = split_as_state<state_split_over<Where...>, state_element_size<X>>;
  template <class T>
  using tensor = mtf::tensor<T, typename X::shape_type, typename any_layout_as<typename X::layout_type, further>::type,
                             partial<>, typename X::backend_type>;
};
template <class X>
  requires(by_value<X>)
struct state_split<X, state_split_over<>> {
  template <class T>
  using tensor = mtf::tensor<T, typename X::shape_type, typename X::layout_type, partial<>, typename X::backend_type>;
};

/// Along which axes the state of this parameter is split further.
template <class Split, class X>
constexpr axis_mask state_axes([[maybe_unused]] tensor_place<X> const& parameter) {
  if constexpr (by_value<X>)
    return further_axes<Split>(parameter.arranged(), state_element_size<X>);
  else
    return state_split<X, Split>::axes;
}

}  // namespace detail

/// The part of a parameter of type X of which a rank has the optimizer's state, as a tensor: the parameter's type where
/// `Split`, a state_split_over, does not split it further.
template <class X, class Split>
using state_part_t = typename detail::state_split<X, Split>::template tensor<typename X::element_type>;

namespace detail {

/// The sharding of the part of this parameter.
template <class Split, class Backend, class X>
constexpr tensor_place<state_part_t<X, Split>> state_place([[maybe_unused]] Backend& b,
                                                           [[maybe_unused]] tensor_place<X> const& parameter) {
  if constexpr (by_value<X>)
    return tensor_place<state_part_t<X, Split>>(
        split_as_state<Split, state_element_size<X>>::arranged(b.layouts(), b.ranks().mesh(), parameter.arranged()));
  else
    return {};
}

/// The memory of that part: the parameter's own, or a copy where the part is not contiguous.
template <class Split, class X>
constexpr auto part_of_parameter(X const& x) {
  auto const place = place_of(x);
  return own_part<typename X::element_type>(x.backend(), place.spec(), state_axes<Split>(place), x.value().memory);
}

/// Each rank has its part of the parameter's shard, as part_of_parameter gave it: now all have all of it. One
/// all-gather over the axes that split the state further; in place where parts are contiguous, else into new memory.
/// `name`: the parameter's path, as for operation.
template <class Split, class X, class Memory>
constexpr void share_parts(X& x, Memory const& part, parameter_path const& name = {}) {
  auto const place = place_of(x);
  axis_mask const axes = state_axes<Split>(place);
  if (axes == 0) return;
  using T = typename X::element_type;
  auto& b = x.backend();
  operation<typename X::backend_type> const here(b, {"parameter", name}, place.spec());
  auto const& mesh = b.ranks().mesh();
  if (has_contiguous_parts(place.spec(), axes, mesh))
    b.communicate(collective::all_gather(axes, element_of<T>,
                                         static_cast<std::size_t>(state_place<Split>(b, place).local_size())),
                  data_of<T>(part), x.value().data());
  else
    x = place.tensor(value<typename X::backend_type, T>(
        execute<T>(b, derive_relayout(mesh, split_further(place.spec(), axes, mesh), place.spec()), part)));
}

}  // namespace detail
}  // namespace mtf
