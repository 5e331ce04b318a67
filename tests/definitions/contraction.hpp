#pragma once
#include "definition.hpp"

namespace define {

/// The product of all operands, summed over what the result lacks; plus the last one if `bias`.
definition contraction(bool bias = false);

}  // namespace define
