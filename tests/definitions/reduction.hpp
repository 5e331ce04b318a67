#pragma once
#include <cmath>

#include "definition.hpp"

namespace define {

// Along the dimensions that the result lacks.
definition sum();
definition mean();
definition variance();
/// The second operand's are the weights.
definition weighted_mean();
/// Their gradients go to every element that equals the result.
definition largest();
definition smallest();
definition product();
definition logsumexp();

// Of rows along a dimension.
definition softmax(int dim, double scale = 1);
definition log_softmax(int dim);

/// What the numbers of a row up to each come to, itself included or not, from the first or from the last on. The
/// gradient of the largest so far goes to the first that equals it; `nothing` is what no numbers come to.
struct run {
  bool reverse = false, exclusive = false;
};
definition running_sum(int dim, run how);
definition running_product(int dim, run how);
definition running_largest(int dim, run how, double nothing = -HUGE_VAL);

/// Whether the query at a position sees the key at another.
using sees = std::function<bool(int query, int key)>;
/// 0 for keys that the query does not see, or that are not below its length, where a second operand has lengths.
definition masked_softmax(int query, int key, sees shows, double scale = 1);

// Of rows, for other definitions.
row softmax_of(tape&, row x);
number logsumexp_of(tape&, row x);
number mean_of(tape&, row const& x);

}  // namespace define
