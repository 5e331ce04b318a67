// README's refused layout: two dimensions of one tensor on one axis.
// expect: two dimensions of one tensor are split over one mesh axis
// expect[GNU]: error_two_dims_on_one_axis<batch, hidden, rows>
// expect[Clang]: error_two_dims_on_one_axis<batch, hidden, rows>
#include <mtf/mtf.hpp>

struct batch  : mtf::dim<"batch", 64> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct rows   : mtf::axis<"rows", 2> {};
struct cols   : mtf::axis<"cols", 2> {};

#ifdef MTF_CONTROL
using where = mtf::layout<mtf::mesh<rows, cols>, mtf::split<batch, rows>, mtf::split<hidden, cols>>;
#else
using where = mtf::layout<mtf::mesh<rows, cols>, mtf::split<batch, rows>, mtf::split<hidden, rows>>;
#endif

mtf::tensor<float, mtf::shape<batch, hidden>, where> activations;
