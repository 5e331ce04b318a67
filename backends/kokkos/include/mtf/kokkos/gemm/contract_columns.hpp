#pragma once
// A contraction as BLAS libraries take it: column-major matrices and one strided batch loop. Row-major c = a b is
// column-major c^T = b^T a^T, so their first operand is our b.
#include <algorithm>
#include <cstddef>

#include <mtf/kokkos/launch/nest.hpp>

namespace mtf::kokkos {

/// One operand: stored plain (its first index contiguous) or to be transposed, and its leading dimension.
struct column_operand {
  bool plain;
  index rows, columns, leading;  // as stored
};

/// rows x columns in the library's view, element strides (row_stride, column_stride), one of them 1 unless that extent
/// is.
constexpr column_operand column_operand_of(index rows, index columns, index row_stride, index column_stride) {
  bool const plain = rows == 1 ? column_stride != 1 || columns == 1 : row_stride == 1;
  return plain ? column_operand{true, rows, columns, std::max(rows, column_stride)}
               : column_operand{false, columns, rows, std::max(columns, row_stride)};
}

/// b^T: n x k, a^T: k x m, c^T: n x m.
constexpr column_operand first_operand(contraction const& w) { return column_operand_of(w.n, w.k, w.b_n, w.b_k); }
constexpr column_operand second_operand(contraction const& w) { return column_operand_of(w.k, w.m, w.a_k, w.a_m); }

/// The longest batch loop goes into the library's call, the others are calls of their own.
struct batch_split {
  index count = 1;
  index stride[3] = {0, 0, 0};  // a, b, c
  nest<3> outer;
  index calls = 1;

  explicit batch_split(loops<3> batch) {
    std::size_t best = 0;
    for (std::size_t d = 1; d < static_cast<std::size_t>(batch.ndim); ++d)
      if (batch.extent[d] > batch.extent[best]) best = d;
    if (batch.ndim > 0) {
      count = batch.extent[best];
      if (count > 1)
        for (std::size_t o = 0; o < 3; ++o) stride[o] = batch.stride[o][best];
      batch.extent[best] = 1;
    }
    outer = nest_of(batch);
    calls = outer.l.size();
  }
};

}  // namespace mtf::kokkos
