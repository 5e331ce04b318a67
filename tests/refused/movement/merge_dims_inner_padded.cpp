// Two dimensions become one, of which the inner one has pads: they would come in between.
// expect[GNU]: error_pads_not_of_the_outer<words, digit, letters>
// expect[Clang]: error_pads_not_of_the_outer<words, digit, letters>
// expect[NVIDIA]: error_pads_not_of_the_outer<.*words
// expect: error: static assertion failed.*mtf: where a dimension becomes two, or is made of two, pads are whole rows
#include "names.hpp"

#include <mtf/ops/movement.hpp>

struct words : mtf::dim<"words", 70> {};
#ifdef MTF_CONTROL
struct letters : mtf::dim<"letters", 7> {};
#else
struct letters : mtf::dim<"letters", 7, mtf::pad_to<2>> {};
#endif

auto f(tensor<digit, letters> const& x) { return mtf::merge_dims<digit, letters, words>(x); }
