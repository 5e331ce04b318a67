// Parameters as sums, which are no parameters.
// expect: error_mapped_type<
// expect: error: static assertion failed.*mtf: the function given to map_tensors returns for a tensor of the first structure
#include <mtf/tensor/map_tensors.hpp>
#include "names.hpp"

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  MTF_FIELDS(w);
};
using parameters = mlp<tensor>;

#ifdef MTF_CONTROL
auto f(parameters const& p) {
  return mtf::map_tensors([](auto const& x) { return 2 * x; }, p);
}
#else
auto f(parameters const& p) {
  return mtf::map_tensors([](auto const& x) { return mtf::sum<digit>(x); }, p);
}
#endif
