// A dimension with pads becomes two: the last positions of the inner one would be pads in the last row alone.
// expect[GNU]: error_pads_not_of_the_outer<words, pages, digit>
// expect[Clang]: error_pads_not_of_the_outer<words, pages, digit>
// expect[NVIDIA]: error_pads_not_of_the_outer<.*words
// expect: error: static assertion failed.*mtf: where a dimension becomes two, or is made of two, pads are whole rows
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct pages : mtf::dim<"pages", 5, mtf::pad_to<6>> {};
#ifdef MTF_CONTROL
struct words : mtf::dim<"words", 50, mtf::pad_to<60>> {};
#else
struct words : mtf::dim<"words", 50, mtf::pad_to<8>> {};
#endif

auto f(tensor<words> const& x) { return mtf::split_dim<words, pages, digit>(x); }
