// A dimension has the name of one that the layout splits, and an extent that cannot be split so.
// expect[GNU]: error_not_divisible<last_batch, 7, 2, mtf::nearest<6, 8>
// expect[Clang]: error_not_divisible<last_batch, 7, 2, mtf::nearest<6, 8>
// expect[NVIDIA]: error_not_divisible<.*last_batch
// expect: error: static assertion failed.*mtf: the processors that split a dimension do not divide its extent
#include "names.hpp"

#ifdef MTF_CONTROL
struct last_batch : mtf::dim<"batch", 8> {};
#else
struct last_batch : mtf::dim<"batch", 7> {};
#endif

tensor<last_batch, hidden> x;
