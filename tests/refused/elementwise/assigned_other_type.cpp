// A row becomes a matrix.
// expect: error_assigned_type<
// expect: error: static assertion failed.*mtf: x \+= y, or another such assignment, would give x another type
#include "names.hpp"

#ifdef MTF_CONTROL
void f(tensor<batch>& x, tensor<batch, digit> const& y) { x += mtf::sum<digit>(y); }
#else
void f(tensor<batch>& x, tensor<batch, digit> const& y) { x += y; }
#endif
