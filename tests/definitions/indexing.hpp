#pragma once
// By numbers that an operand holds, and by order.
#include "definition.hpp"

namespace define {

/// The rows of the first operand that the second names; zeros for a negative one.
definition embedding(int vocabulary);
/// Where a part begins is the largest number of the last operand. What lies beyond the ends is NaN; update leaves it
/// out.
definition slice(int whole, int part);
definition update(int whole, int part);
/// The largest along `dim` in descending order, as many as `count` is long: of equal ones the first, 0 before -0, NaN
/// before all.
definition top_k(int dim, int count);
/// Their positions.
definition top_k_positions(int dim, int count);

}  // namespace define
