#pragma once
// Attention, rotary positions, norms, the loss, dropout; random numbers.
#include <cstdint>

#include "definition.hpp"
#include "reduction.hpp"

namespace define {

/// Of queries, keys, values and, if they are an operand, lengths; 0 where a query sees no key.
definition attention(int query, int key, int head, sees shows, double scale);
/// Pairs turned, by cosines and sines, which are constants: elements beside each other, or a half of `dim` apart.
definition rotary(int dim, bool neighbours);
/// With gamma and beta.
definition layer_norm(int dim, double epsilon);
/// With gamma.
definition rms_norm(int dim, double epsilon);
/// Of logits and labels; 0 for a negative one.
definition cross_entropy(int classes);
definition dropout(double rate, std::uint64_t key);

definition uniform(std::uint64_t key, double low = 0, double high = 1);
definition normal(std::uint64_t key, double mean = 0, double deviation = 1);
definition truncated_normal(std::uint64_t key, double mean = 0, double deviation = 1);

}  // namespace define
