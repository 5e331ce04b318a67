#pragma once
// Attention, rotary positions, norms, the loss, dropout; random numbers.
#include <cstdint>

#include "definition.hpp"
#include "reduction.hpp"

namespace define {

/// What attention has besides; operands by their number, below 0: none.
struct attention_terms {
  double scale = 1, soft_cap = 0, dropped = 0;
  std::uint64_t drop_key = 0;
  int lengths = -1, bias = -1, query_ids = -1, key_ids = -1;
  int values = -1;  // what their last dimension is, if not `head`
};
/// Of queries, keys, values and such; 0 where a query sees no key.
definition attention(int query, int key, int head, sees shows, attention_terms terms);
/// Of queries, keys, values and, if they are an operand, lengths.
definition attention(int query, int key, int head, sees shows, double scale);
/// Pairs turned, by cosines and sines, which are constants: elements beside each other, or a half of `dim` apart.
definition rotary(int dim, bool neighbours);
/// With gamma and beta.
definition layer_norm(int dim, double epsilon);
/// With gamma and beta over the dimensions that stay; of `within` neighbours along `dim`, over that.
definition batch_norm(dim_list const& over, double epsilon);
definition group_norm(int dim, int within, dim_list const& more, double epsilon);
/// With gamma.
definition rms_norm(int dim, double epsilon);
/// Of logits and labels; 0 for a negative one.
definition cross_entropy(int classes, double smoothing = 0, double z = 0);
/// Of features, a table of a row for each class, and labels.
definition linear_cross_entropy(int classes, double smoothing = 0, double z = 0);
definition dropout(double rate, std::uint64_t key);
/// One draw for all positions along some dimensions.
definition shared_dropout(double rate, std::uint64_t key, dim_list const& shared);

definition uniform(std::uint64_t key, double low = 0, double high = 1);
definition normal(std::uint64_t key, double mean = 0, double deviation = 1);
definition truncated_normal(std::uint64_t key, double mean = 0, double deviation = 1);

/// Of positions along these dimensions: ALiBi's slopes and bias, T5's buckets, sines and cosines.
definition alibi_slopes(int heads, int count);
definition alibi_bias(int heads, int count, int query, int key, int offset);
definition relative_position_bucket(int query, int key, bool bidirectional, int count, int max_distance, int offset);
definition sinusoids(int length, int model, int width, bool halves);

}  // namespace define
