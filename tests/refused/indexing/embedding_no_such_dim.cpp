// An embedding along a dimension that its table lacks.
// expect[GNU]: error_no_such_dim<digit, mtf::shape<vocab, hidden>
// expect[Clang]: error_no_such_dim<digit, mtf::shape<vocab, hidden>
// expect[NVIDIA]: error_no_such_dim<.*digit
// expect: error: static assertion failed.*mtf: an operation names a dimension that its tensor does not have
#include "names.hpp"

#ifdef MTF_CONTROL
auto f(tensor<vocab, hidden> const& table, numbers<batch> const& ids) { return mtf::embedding<vocab>(table, ids); }
#else
auto f(tensor<vocab, hidden> const& table, numbers<batch> const& ids) { return mtf::embedding<digit>(table, ids); }
#endif
