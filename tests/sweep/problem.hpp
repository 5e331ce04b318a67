#pragma once
// What the ranks are to compute: an operation on global tensors.
#include <cstdint>
#include <string_view>
#include <vector>

#include "oracle.hpp"

namespace sweep {

/// Everything about an operation that does not depend on a case.
struct problem {
  operation const* op = nullptr;
  std::uint64_t salt = 0;
  std::vector<numbers> in, gradients;  // gradients by definition, of the weighted sum of the result
  std::vector<numbers> errors;         // what rounding may change of them
  std::vector<numbers> earlier;        // gradients that flowed to the operands before
  numbers out, weights;
  std::vector<numbers> one_rank_gradients;  // the library's own answer without a mesh
  numbers one_rank_out;
};

std::uint64_t hash_of(std::string_view s);

/// The dimensions of the result.
std::vector<int> dims_of_result(operation const& op);
/// By definition: the result and, of its weighted sum, the gradients; they are rounded by so much, relatively, where
/// they are computed, and where they are stored. False if the definition rejects the operands.
bool work_out(problem& p, double computed = 0, double stored = 0);

/// Operands of ordinary numbers, and all that follows from them by definition.
problem posed(operation const& op);

}  // namespace sweep
