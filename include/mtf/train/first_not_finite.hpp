#pragma once
// Where a loss of NaN comes from.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/watch.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/describe.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/params.hpp>

namespace mtf {

namespace detail {
// A function of the elements' type alone, so that walking many parameters compiles little.
template <class Backend, class T>
void look_at_parameter(result_watch& watch, Backend& b, path const& at, sharding const& where, backend::index n,
                       T const* data) {
  watch.note("parameter " + at.text(), where, b.all_finite(n, data));
}
}  // namespace detail

/// Calls `step()` and tells the first operation whose result is not finite, in the order of the program and on any
/// rank: its name and pass as a profile has them, and the tensor as a plan has it (backward: its gradient), such as
/// "einsum forward [batch/data, d_ff]". Tensors of `params` that are not finite come first, "parameter blocks.0.w1
/// [d_model, d_ff]". Empty if all are finite. All ranks call it, with the same program; `b` is a backend that can be
/// watched, as Kokkos' is.
template <class Backend, class Params, class Step>
std::string first_not_finite(Backend& b, Params const& params, Step const& step) {
  std::array<std::string_view, max_axes> axes{};
  result_watch watch;
  struct watching {
    Backend& on;
    ~watching() { on.watch(nullptr); }
  } const until_the_end{b};
  b.watch(&watch);
  auto const look_at = [&](detail::path const& at, auto const& x) {
    using X = std::remove_cvref_t<decltype(x)>;
    if constexpr (detail::by_value<X>)
      axes = x.where().layout->mesh.axis_names();
    else
      axes = X::mesh_type::axis_names;
    auto const place = detail::place_of(x);
    if (!watch.found()) detail::look_at_parameter(watch, b, at, place.spec(), place.local_size(), x.value().data());
  };
  detail::walk(static_cast<void*>(nullptr), look_at, nullptr, params);
  step();
  // All ranks have noted the same results, up to the first that is not finite on them.
  auto const& results = watch.results();
  auto const mine = static_cast<std::int64_t>(results.size()) - (watch.found() ? 1 : 0);
  std::int64_t first = 0;
  auto const everyone = (axis_mask{1} << static_cast<unsigned>(b.ranks().mesh().ndim)) - 1U;
  b.ranks().communicate(collective::all_reduce(everyone, combine::min, element::i64, 1), &mine, &first);
  if (first == static_cast<std::int64_t>(results.size())) return {};
  auto const& found = results[static_cast<std::size_t>(first)];
  return found.made_by + " " + describe(found.tensor, axes);
}

}  // namespace mtf
