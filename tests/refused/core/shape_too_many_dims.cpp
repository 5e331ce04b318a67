// A tensor of nine dimensions.
// expect[GNU]: error_too_many_dims<8, batch, hidden
// expect[Clang]: error_too_many_dims<8, batch, hidden
// expect[NVIDIA]: error_too_many_dims<
// expect: error: static assertion failed.*more dimensions than mtf::max_dims
#include "names.hpp"

struct d1 : mtf::dim<"d1", 2> {};
struct d2 : mtf::dim<"d2", 2> {};
struct d3 : mtf::dim<"d3", 2> {};
struct d4 : mtf::dim<"d4", 2> {};
struct d5 : mtf::dim<"d5", 2> {};
struct d6 : mtf::dim<"d6", 2> {};
struct d7 : mtf::dim<"d7", 2> {};
#ifdef MTF_CONTROL
using it = tensor<batch, hidden, d1, d2, d3, d4, d5, d6>;
#else
using it = tensor<batch, hidden, d1, d2, d3, d4, d5, d6, d7>;
#endif

it x;
