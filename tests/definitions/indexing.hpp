#pragma once
// By numbers that an operand holds, and by order.
#include <cstdint>

#include "definition.hpp"

namespace define {

/// The rows of the first operand that the second names; zeros for a negative one.
definition embedding(int vocabulary);
/// Where a part begins is the largest number of the last operand, for each position along `rows`. What lies beyond the
/// ends is NaN; update leaves it out.
definition slice(int whole, int part, dim_list const& rows = {});
definition update(int whole, int part, dim_list const& rows = {});
/// The largest along `dim` in descending order, as many as `count` is long: of equal ones the first, 0 before -0, NaN
/// before all.
definition top_k(int dim, int count);
/// Their positions.
definition top_k_positions(int dim, int count);
/// The position of the largest, by the same order, along the dimension that the result lacks.
definition argmax();
/// Of the smallest: -0 before 0, NaN before all.
definition argmin();
/// 1 where the position along a dimension is the operand's number, else 0.
definition one_hot(int dim);
/// The numbers of the first operand along a dimension that the second names; zeros for a negative one. Positions along
/// other dimensions that both have belong together.
definition gather(int dim);
/// Numbers of the first operand are added up, along a dimension that it lacks, where the second says.
definition scatter_add(int dim);
/// In ascending order along a dimension, NaN last; of equal ones the first in front. And where they were.
definition sort(int dim);
definition argsort(int dim);
/// Where x + temperature g is largest along the dimension that the result lacks; g = -log(-log u), u being uniform by
/// the key and the number of the element.
definition categorical(std::uint64_t key, double temperature);
/// How positions are drawn: temperature (0: the largest), then what may be drawn.
struct sampling {
  double temperature = 1, min_p = 0;
  int top_k = 0;
  double top_p = 1;
};
/// The position along the dimension that the result lacks that the second operand's number draws from the first's: with
/// softmax's probabilities of floats over the temperature, of those that min_p, the k likeliest and top_p leave. -1:
/// all are NaN or -infinity.
definition sample(sampling const& how);
/// The same by operands: the third is the temperature, then min_p, top_k, top_p.
definition sample_each();

}  // namespace define
