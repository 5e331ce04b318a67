#pragma once
// The sequences that attention goes through, as places in its operands.
#include <cstddef>
#include <cstdint>

#include <mtf/backend/work.hpp>
#include <mtf/kokkos/launch/nest.hpp>

namespace mtf::kokkos {

/// Where a sequence is in each of attention's operands, and as the last one the how manieth it is.
using attention_places = index[9];
inline constexpr int of_sequence = 8;

/// The batch as loops over such places: all, or those in which an operand stands still, or those in which it does not.
enum class attention_loops : std::uint8_t { all, still, moving };
inline nest<9> attention_nest(loops<8> const& batch, attention_loops which = attention_loops::all,
                              attention_operand of = of_k) {
  loops<9> l;
  for (int d = 0; d < batch.ndim; ++d) {
    auto const from = static_cast<std::size_t>(d), to = static_cast<std::size_t>(l.ndim);
    bool const still = batch.stride[of][from] == 0 && batch.extent[from] > 1;
    if (which != attention_loops::all && still != (which == attention_loops::still)) continue;
    l.extent[to] = batch.extent[from];
    for (std::size_t o = 0; o < of_sequence; ++o) l.stride[o][to] = batch.stride[o][from];
    index sequences = 1;
    for (int e = d + 1; e < batch.ndim; ++e) sequences *= batch.extent[static_cast<std::size_t>(e)];
    l.stride[of_sequence][to] = sequences;
    ++l.ndim;
  }
  return nest_of(l);
}

}  // namespace mtf::kokkos
