#pragma once
// Rows by number: table [vocab, width] holds global rows from vocab_offset on; ids are global. Rows from vocab_global
// on are pads, which no id names. There may be a batch of tables, each with `count` ids of its own.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// How many different rows `count` ids can name: a row that is named again is in a cache.
constexpr index rows_at_most(index count, index vocab) { return count < vocab ? count : vocab; }

/// out[c] = table[ids[c]]; zeros where that row is not here, NaN where ids[c] >= vocab_global.
template <class T>
struct take_rows {
  static constexpr char const* name = "mtf::take_rows";
  index count, width, vocab, vocab_offset, vocab_global;
  T* out;
  T const* table;
  std::int32_t const* ids;
  index batch = 1;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<T>(batch * (count + rows_at_most(count, vocab)) * width);
  }
};

/// table_gradient[ids[c]] += dy[c] for the rows that are here.
template <class T>
struct add_rows {
  static constexpr char const* name = "mtf::add_rows";
  index count, width, vocab, vocab_offset, vocab_global;
  T* table_gradient;
  T const* dy;
  std::int32_t const* ids;
  index batch = 1;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<T>(batch * (count + 2 * rows_at_most(count, vocab)) * width);
  }
};

}  // namespace mtf::primitives
