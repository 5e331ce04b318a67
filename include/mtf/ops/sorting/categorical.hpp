#pragma once
// Choices by chance.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include <mtf/backend/primitives/random.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/ops/sorting/argmax.hpp>

namespace mtf {

namespace detail {

template <class T>
struct gumbel_operation {
  operation_work<1> const* work;
  std::uint64_t key;
  double scale;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "categorical"; }

  constexpr void forward(auto& f) const {
    f.run(primitives::add_gumbel<T>{placement_of(work->out, f.mesh(), f.rank()), key, scale, f.y(), f.x()});
  }
  constexpr void backward(auto&) const {}  // what is chosen by it has no gradient
};
struct gumbel_rule {
  static constexpr bool takes_pads = true;
  static constexpr operation_work<1> derive(mesh_shape const&, sharding const& x) {
    operation_work<1> w{.in = {x}, .out = x};
    w.complete[0] = x.partial;
    w.out.partial = 0;
    return w;
  }
};

/// Not constexpr: a plan of such a program ends here.
[[noreturn]] inline void temperature_is_wrong(double temperature) {
  throw user_error("categorical: the temperature is " + std::to_string(temperature) +
                   "; a number from 0 on was expected: 0 chooses the largest, 1 by the probabilities");
}

template <class D>
struct categorical_call {
  random_key key;
  double temperature;

  template <class X>
  static auto verdict() -> first_failed_t<named_dims_t<typename X::shape_type, D>, floating_t<X>>;
  template <class X>
  constexpr auto operator()(X const& x) const {
    using T = typename X::element_type;
    if (!(temperature >= 0 && temperature <= 0x1p1000)) temperature_is_wrong(temperature);
    if constexpr (std::is_same_v<T, bfloat16>)
      return categorical_call{key, temperature}(cast<float>(x));  // bfloat16 has few numbers to tell chances by
    else
      return argmax<D>(run_as<description_of<T, gumbel_rule, typename X::description>, gumbel_rule>(
          gumbel_operation<T>{nullptr, key.bits(), temperature}, stop_gradient(x)));
  }
};

}  // namespace detail

/// A position along D (int32), chosen by chance: each with the probability softmax(logits / temperature) has for it. It
/// is where logits + temperature g is largest, g being numbers of Gumbel's distribution which depend on the key and the
/// element's global position alone: every layout chooses the same. Another step takes another key, key.of(step). At
/// temperature 0 it is argmax. -infinity is not chosen unless all are; NaN is. Of the k likeliest alone: of what top_k
/// gives, then `gather` from its places (docs/recipes.md). Communication as for argmax; no gradient. Refused: a
/// dimension that the logits lack, integers; a negative temperature is a user_error.
template <dimension D, operand X>
constexpr auto categorical(X const& logits, random_key key, double temperature = 1) {
  return detail::operate(detail::categorical_call<D>{key, temperature}, logits);
}

}  // namespace mtf
