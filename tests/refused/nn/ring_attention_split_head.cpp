// Keys go round what the queries are split by, but not where heads are split inside.
// expect[GNU]: error_two_dims_on_one_axis<sequence, memory, data>
// expect[Clang]: error_two_dims_on_one_axis<sequence, memory, data>
// expect[NVIDIA]: error_two_dims_on_one_axis<.*sequence
// expect: error: static assertion failed.*mtf: the layout is not injective: two dimensions of one tensor are split over
// one mesh axis
#include "names.hpp"

#include <mtf/ops/nn/attention.hpp>

using by_sequence = mtf::split<sequence, data>;
using by_memory = mtf::split<memory, data>;
#ifdef MTF_CONTROL
using layout = mtf::layout<machine, by_sequence, by_memory>;
#else
using layout = mtf::layout<machine, by_sequence, by_memory, mtf::split<hidden, model>>;
#endif
template <class... Dims>
using split_tensor = mtf::place<float, layout, mtf::trace>::tensor<Dims...>;

auto f(split_tensor<sequence, hidden> const& q, split_tensor<memory, hidden> const& k) {
  return mtf::attention<sequence, memory, hidden>(q, k, k, mtf::visible::causal(), 1);
}
