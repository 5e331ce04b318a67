#pragma once
// Dropout.
#include <cstddef>
#include <cstdint>
#include <string>

#include <mtf/backend/primitives/random.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/ops/frame.hpp>
#include <mtf/ops/create/random.hpp>

namespace mtf {

namespace detail {

constexpr void check_dropout_rate(double rate) {
  if (!(rate >= 0 && rate <= 1))
    throw user_error("dropout: the rate is " + std::to_string(rate) + "; a probability, from 0 to 1, was expected");
}

/// Dropout is its own gradient: the mask is drawn again from the key, not stored.
template <class T>
struct dropout_operation {
  operation_work<1> const* work;
  std::uint64_t key;
  double rate;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "dropout"; }

  constexpr void forward(auto& f) const {
    f.run(primitives::dropout<T>{placement_of(work->out, f.mesh(), f.rank()), key, rate, f.y(), f.x()});
  }
  constexpr void backward(auto& g) const {
    g.run(primitives::dropout<T>{placement_of(work->out, g.mesh(), g.rank()), key, rate, g.dx(), g.dy()});
  }
};

struct dropout_call {
  double rate;
  random_key key;

  template <class X>
  static auto verdict() -> floating_t<X>;
  static constexpr bool takes_pads = true;
  static constexpr operation_work<1> derive(mesh_shape const&, sharding const& x) { return {.in = {x}, .out = x}; }
  template <class X>
  constexpr X operator()(X const& x) const {
    check_dropout_rate(rate);
    if (rate == 0) return x;
    using T = typename X::element_type;
    return run_as<typename X::description, dropout_call>(dropout_operation<T>{nullptr, key.bits(), rate}, x);
  }
};

}  // namespace detail

/// Each element is 0 with probability `rate`, else divided by 1 - rate (Srivastava et al. 2014); rate 0 is the
/// identity, rate 1 gives zeros. The rate, in [0, 1] or a user_error, is rounded to a multiple of 2^-16, in both
/// places, so that one random word serves two elements. The mask depends on the key and the global position only. A
/// partial tensor stays partial; nothing is sent.
template <operand X>
constexpr auto dropout(X const& x, double rate, random_key key) {
  return detail::operate(detail::dropout_call{rate, key}, x);
}

}  // namespace mtf
