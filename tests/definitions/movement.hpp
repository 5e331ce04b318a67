#pragma once
#include <functional>

#include "definition.hpp"

namespace define {

/// The same array: other dimensions or orders are the result's.
definition same();
/// One dimension by another name.
definition renamed(int from, int to);
/// Dimension `one` and its two, row-major, either way round.
definition regrouped(int one, int outer, int inner);
/// All operands, one after the other: along `whole`, which each has as its one of `parts`.
definition joined(int whole, std::vector<int> parts);
/// Along `part` of the result what is along `dim` where its position says, if that is there; else `outside`.
definition taken_from(int dim, int part, std::function<int(int position, int extent)> where, double outside = 0);
/// All operands, one at each position of `dim`.
definition stacked(int dim);
/// One position of a dimension that the result lacks.
definition position_of(int dim, int position);
/// Rounded by f, and gradients too.
definition rounded(double (*f)(double));
/// To integers.
definition truncated();
/// A constant to the backward pass.
definition stopped();

}  // namespace define
