// Adafactor's state is of other types for large tensors and for small ones.
// expect: error: static assertion failed.*mtf: adafactor's state is of types that follow from extents
#include "names.hpp"

#include <mtf/train/adafactor.hpp>

struct length : mtf::dim<"length"> {};
template <template <class...> class Tensor>
struct weights {
#ifdef MTF_CONTROL
  Tensor<batch> w;
#else
  Tensor<length> w;
#endif
  MTF_FIELDS(w);
};
template <class... Dims>
using under_any = mtf::place<float, mtf::any_layout<>, mtf::trace>::tensor<Dims...>;
void update(mtf::trace& b) { mtf::adafactor<weights<under_any>> optimizer(b, {}); }
