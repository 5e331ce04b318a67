// README's refused layout: two dimensions of one tensor on one axis.
// expect: two dimensions of one tensor are split over one mesh axis
// expect[GNU]: error_two_dims_on_one_axis<batch, hidden, data>
// expect[Clang]: error_two_dims_on_one_axis<batch, hidden, data>
#include <mtf/mtf.hpp>

struct batch  : mtf::dim<"batch", 64> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct data   : mtf::axis<"data", 2> {};
struct model  : mtf::axis<"model", 2> {};

#ifdef MTF_CONTROL
using where = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<hidden, model>>;
#else
using where = mtf::layout<mtf::mesh<data, model>, mtf::split<batch, data>, mtf::split<hidden, data>>;
#endif

mtf::tensor<float, mtf::shape<batch, hidden>, where> activations;
