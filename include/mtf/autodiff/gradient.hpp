#pragma once
// The gradient of a tensor.

#include <mtf/autodiff/state_split.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/tape/completion.hpp>
#include <mtf/detail/tape/cotangent.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/tensor/tensor.hpp>

namespace mtf {

/// The gradient of a tensor of type Tensor, split like it. It may be partial; over which axes depends on all uses of
/// the tensor together, so it is known when the program runs. complete() and part() reduce it. An optimizer whose state
/// is split further (`Split`, a state_split_over) needs on each rank only that rank's part.
template <tensor_type Tensor>
class gradient {
 public:
  /// The tensor of which it is the gradient, and whose shape it has.
  using tensor_type = Tensor;
  /// What holds it.
  using backend_type = typename Tensor::backend_type;
  /// The tensor's.
  using element_type = typename Tensor::element_type;

  /// Zero.
  constexpr gradient() = default;
  constexpr gradient(backend_type& b, detail::tensor_place<Tensor> const& place,
                     detail::cotangent<backend_type> const& g)
      : backend_(&b), place_(place), g_(g) {}

  /// How it lies.
  [[nodiscard]] constexpr detail::tensor_place<Tensor> const& place() const { return place_; }
  /// Starts reducing it: after `all.finish()`, part<Split>() costs nothing. `parameter`: whose gradient it is.
  template <class Split = state_split_over<>>
  constexpr void complete_with(detail::completion<backend_type>& all, parameter_path const& parameter) const {
    if (g_.memory) all.template add<element_type>(g_, place_.spec(), detail::state_axes<Split>(place_), parameter);
  }

  /// The axes over which it is partial; 0 if it is reduced already.
  [[nodiscard]] constexpr axis_mask partial_axes() const {
    return g_.memory && g_.memory->sum.is_over(g_.partial) ? 0 : g_.partial;
  }
  /// Nothing flowed there: the function did not use the tensor, or its result did not depend on it.
  [[nodiscard]] constexpr bool is_zero() const { return !g_.memory; }
  /// The gradient as a tensor: one all-reduce over the partial axes. Called again, it costs nothing. Where an optimizer
  /// has its parts already: one all-gather of them.
  [[nodiscard]] constexpr Tensor complete() const { return part<state_split_over<>>(); }
  /// The gradient as a tensor that is split like the state of a parameter: one reduce-scatter.
  template <class Split>
  [[nodiscard]] constexpr state_part_t<Tensor, Split> part() const {
    if (backend_ == nullptr) detail::has_no_value("a gradient", Tensor::description::spec);
    backend::operation<backend_type> const here(*backend_, "gradient", place_.spec());
    auto const place = detail::state_place<Split>(*backend_, place_);
    if (is_zero()) return detail::filled(*backend_, place, 0);
    return place.tensor(detail::value<backend_type, element_type>(
        detail::completed<element_type>(place_.spec(), g_.partial, g_.memory, detail::state_axes<Split>(place_))));
  }

 private:
  backend_type* backend_ = nullptr;
  [[no_unique_address]] detail::tensor_place<Tensor> place_{};
  detail::cotangent<backend_type> g_;
};

}  // namespace mtf
