// The labels of a cross-entropy have another shape than the logits without their classes.
// expect[GNU]: error_shapes_differ<mtf::shape<batch>, mtf::shape<batch, sequence>
// expect[Clang]: error_shapes_differ<mtf::shape<batch>, mtf::shape<batch, sequence>
// expect[NVIDIA]: error_shapes_differ<
// expect: error: static assertion failed.*mtf: two shapes must name the same dimensions here
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<batch, sequence, digit> const& x, numbers<sequence, batch> const& labels) {
  return mtf::cross_entropy<digit>(x, labels);
}
#else
auto f(tensor<batch, sequence, digit> const& x, numbers<batch> const& labels) {
  return mtf::cross_entropy<digit>(x, labels);
}
#endif
