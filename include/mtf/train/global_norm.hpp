#pragma once
// The norm of all gradients together.
#include <type_traits>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/detail/tape/completion.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/math/fast_math.hpp>
#include <mtf/tensor/params.hpp>

namespace mtf {

namespace detail {

/// The sum of the squares of all gradients' elements, to *total; as global_norm says.
template <class Split, class Backend, class Gradients>
constexpr void sum_squares(Backend& b, Gradients const& gradients, double* total) {
  b.run(primitives::fill<double>{total, 1, 0.0});
  axis_mask split = 0;
  completion<Backend> completing(b);
  walk_tensors(
      b,
      [&](path const& name, auto const& g) {
        if (!g.is_zero()) split |= state_place<Split>(b, g.place()).spec().split_axes();
        g.template complete_with<Split>(completing, name.names());
      },
      gradients);
  completing.finish();
  walk_tensors(
      b,
      [&](auto const&, auto const& g) {
        using T = typename std::remove_cvref_t<decltype(g)>::element_type;
        if (g.is_zero()) return;
        auto const place = state_place<Split>(b, g.place());
        backend::operation<Backend> const here(b, "global_norm", place.spec());
        auto const part = g.template part<Split>();
        b.made(static_cast<T const*>(part.value().data()), place.spec());
        if (b.ranks().mesh().index_within(b.ranks().rank(), split & ~place.spec().split_axes()) == 0)
          b.run(primitives::square_sum<T>{place.local_size(), total, part.value().data()});
      },
      gradients);
  if (split != 0) b.communicate(collective::all_reduce(split, combine::sum, element_of<double>, 1), total, total);
}
/// The norm, once what was asked for so far is done.
template <class Backend>
constexpr double norm_of(Backend& b, double const* total) {
  double sum = 0;
  b.to_host(&sum, total, sizeof sum);
  if constexpr (Backend::holds_data)
    return math::library_sqrt(sum);
  else
    return sum;
}

}  // namespace detail

/// The Euclidean norm of all gradients together, in double. Each element counts once: a rank adds its shard only if it
/// is the first of those that hold the same. Reduces the gradients, for an optimizer with `Split` each rank's part of
/// them; then one all-reduce of one number over the axes that split any of them. Gradients that are zero, since nothing
/// flowed there, send nothing.
template <class Split = state_split_over<>, class Backend, class Gradients>
constexpr double global_norm(Backend& b, Gradients const& gradients) {
  backend::during<Backend> const update(b, pass::update);
  backend::operation<Backend> const norm(b, "global_norm", detail::sharding_of<shape<>, layout<mesh<>>>);
  auto const memory = backend::make_buffer<double>(b, 1);
  detail::sum_squares<Split>(b, gradients, backend::data_of<double>(memory));
  return detail::norm_of(b, backend::data_of<double>(memory));
}

}  // namespace mtf
