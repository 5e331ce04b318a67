// A function of the user's, as the example's model has one: used for values, and for derivatives in either operand.
#include <mtf/kokkos.hpp>
#include <mtf/math/functions.hpp>

namespace vectorized {  // not unnamed: nothing would be compiled
struct gelu_of_sum {
  template <class X, class B>
  MTF_FUNCTION auto operator()(X x, B bias) const {
    return mtf::math::gelu(x + bias);
  }
};
}  // namespace vectorized

using on_default = mtf::kokkos::device<Kokkos::DefaultExecutionSpace>;
template void mtf::kokkos::compute(on_default&,
                                   mtf::primitives::map<vectorized::gelu_of_sum, float, float, float> const&);
template void mtf::kokkos::compute(on_default&,
                                   mtf::primitives::map_vjp<vectorized::gelu_of_sum, float, float, float> const&);
