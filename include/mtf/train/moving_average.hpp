#pragma once
// The exponential moving average of parameters.
#include <type_traits>
#include <utility>

#include <mtf/backend/primitives/optimizer.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/math/updates.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/train/optimizer.hpp>

namespace mtf {

/// The exponential moving average of parameters, which often does better than the last ones in an evaluation: average =
/// decay average + (1 - decay) parameter, from the first parameters on, in their compute type. It lies as they do, so
/// nothing is sent. Stored beside them: `stored_as("ema", average)`.
template <class Params>
class moving_average {
 public:
  /// The parameters as they are averaged: `Params` itself where that is of float or double.
  using averaged_type = detail::state_t<detail::kept_like_it<"">, Params>;

  template <class Backend>
  moving_average(Backend& b, Params const& params, double decay) : decay_(decay) {
    detail::walk_tensors(
        b,
        [](auto const&, auto const& p, auto& a) {
          a = cast<compute_t<typename std::remove_cvref_t<decltype(p)>::element_type>>(p);
        },
        params, average_);
  }

  /// After each update of the parameters.
  template <class Backend>
  void update(Backend& b, Params const& params) {
    backend::during<Backend> const update(b, pass::update);
    detail::walk_tensors(
        b,
        [&](auto const&, auto const& p, auto& a) {
          using P = typename std::remove_cvref_t<decltype(p)>::element_type;
          using A = compute_t<P>;
          auto const place = detail::place_of(a);
          backend::operation<Backend> const here(b, "moving_average", place.spec());
          detail::make_own(a);
          b.run(primitives::update<updates::average<A>, A, P>{
              place.local_size(), a.value().data(), p.value().data(), {}, {static_cast<A>(decay_)}, A(1)});
        },
        params, average_);
  }

  /// The averages.
  [[nodiscard]] averaged_type const& parameters() const { return average_; }

  /// Calls f("", structure) with the averages, to be stored and restored under the parameters' names.
  template <class F>
  void visit_state(F&& f) {
    f("", average_);
  }

 private:
  double decay_;
  averaged_type average_;
};

}  // namespace mtf
