#pragma once
#include "definition.hpp"

namespace define {

/// The same array: other dimensions or orders are the result's.
definition same();
/// One dimension by another name.
definition renamed(int from, int to);
/// Rounded by f, and gradients too.
definition rounded(double (*f)(double));
/// To integers.
definition truncated();
/// A constant to the backward pass.
definition stopped();

}  // namespace define
