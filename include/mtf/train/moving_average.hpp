#pragma once
// The exponential moving average of parameters.
#include <type_traits>

#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/primitives/optimizer.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/tensor/model_types.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/math/updates.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/train/optimizer.hpp>

namespace mtf {

namespace detail {

template <class Params>
struct averaged_of {
  using type = refused;
};
template <template <class...> class Tensor>
struct in_compute_type {
  template <class... D>
  using tensor = typename with_elements<Tensor<D...>, compute_t<typename Tensor<D...>::element_type>>::type;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct averaged_of<Structure<Tensor>> {
  using element = typename Tensor<>::element_type;
  using type = std::conditional_t<std::is_same_v<element, compute_t<element>>, Structure<Tensor>,
                                  Structure<in_compute_type<Tensor>::template tensor>>;
};

}  // namespace detail

/// The exponential moving average of parameters, which often does better than the last ones in an evaluation: average =
/// decay average + (1 - decay) parameter, from the first parameters on, in their compute type. It is split as they are,
/// so nothing is sent. Stored beside them: `stored_as("ema", average)`.
template <class Params>
class moving_average {
 public:
  using checked = checked_t<detail::parameters_verdict_t<Params>>;
  /// The parameters as they are averaged: `Params` itself where that is of float or double.
  using averaged_type = typename detail::averaged_of<Params>::type;

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
        [&](detail::path const& name, auto const& p, auto& a) {
          using P = typename std::remove_cvref_t<decltype(p)>::element_type;
          using A = compute_t<P>;
          auto const place = detail::place_of(a);
          backend::operation<Backend> const here(b, "moving_average", place.spec());
          detail::check_extents<typename std::remove_cvref_t<decltype(p)>::shape_type>(
              "moving_average", name, place.spec(), detail::place_of(p).spec());
          detail::make_own(a);
          b.run(primitives::update<updates::average<A>, A, P>{
              place.local_size(), a.value().data(), p.value().data(), {}, {static_cast<A>(1 - decay_)}, nullptr});
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
