#pragma once
// Rows by number: table [vocab, width] holds global rows from vocab_offset on; ids are global.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// out[c] = table[ids[c]]; zeros where that row is not here, NaN where the table of all ranks, of vocab_global rows,
/// ends before it.
template <class T>
struct take_rows {
  static constexpr char const* name = "mtf::take_rows";
  index count, width, vocab, vocab_offset, vocab_global;
  T* out;
  T const* table;
  std::int32_t const* ids;

  [[nodiscard]] constexpr double bytes() const { return 2 * bytes_moved<T>(count * width); }
};

/// table_gradient[ids[c]] += dy[c] for the rows that are here.
template <class T>
struct add_rows {
  static constexpr char const* name = "mtf::add_rows";
  index count, width, vocab, vocab_offset;
  T* table_gradient;
  T const* dy;
  std::int32_t const* ids;

  [[nodiscard]] constexpr double bytes() const { return 3 * bytes_moved<T>(count * width); }
};

}  // namespace mtf::primitives
