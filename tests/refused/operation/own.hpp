#pragma once
// An operation of one's own, as docs/adding-an-operation.md says: y = x, where z lies as x does.
#include "names.hpp"

namespace own {

using namespace mtf::detail;

template <class T>
struct beside_operation {
  operation_work<2> const* work;
#if !defined(NO_KEPT) || defined(MTF_CONTROL)
  static constexpr std::size_t kept = 0;
#endif
  static constexpr char const* name() { return "beside"; }
  constexpr void forward(auto& f) const { f.out = f.memory(); }
#if !defined(NO_BACKWARD) || defined(MTF_CONTROL)
  constexpr void backward(auto& g) const { g.template set_dx<0>(g.g.memory); }
#endif
};

struct beside_call {
#if !defined(NO_VERDICT) || defined(MTF_CONTROL)
  template <class X, class Z>
  static auto verdict() -> same_element_t<X, Z>;
#endif
#if !defined(NO_DERIVE) || defined(MTF_CONTROL)
  static constexpr operation_work<2> derive(mtf::mesh_shape const&, mtf::sharding const& x, mtf::sharding const& z) {
    operation_work<2> w{.in = {x, z}, .out = x};
    w.complete = {x.partial, z.partial};
    w.out.partial = 0;
    return w;
  }
#endif
  template <class X, class Z>
  constexpr auto operator()(X const& x, Z const& z) const {
    using T = typename X::element_type;
    return run_as<typename X::description, beside_call>(beside_operation<T>{}, x, z);
  }
};

constexpr auto beside(auto const& x, auto const& z) { return operate(beside_call{}, x, z); }

}  // namespace own

using x = tensor<batch, hidden>;
