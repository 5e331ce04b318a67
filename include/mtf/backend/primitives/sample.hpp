#pragma once
// Positions that uniform numbers draw from rows.
#include <cstdint>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/math/sample.hpp>

namespace mtf::primitives {

using namespace backend;  // NOLINT: the words of the contract

/// What is said of each row apart; where it is null, `sample_rows::how` says it of all.
struct sample_options_of_rows {
  float const *temperature = nullptr, *min_p = nullptr;
  std::int32_t const* top_k = nullptr;
  float const* top_p = nullptr;

  /// Of one row.
  [[nodiscard]] MTF_FUNCTION math::sample_options of(math::sample_options how, index row) const {
    if (temperature != nullptr) how.temperature = temperature[row];
    if (min_p != nullptr) how.min_p = min_p[row];
    if (top_k != nullptr) how.top_k = top_k[row];
    if (top_p != nullptr) how.top_p = top_p[row];
    return how;
  }
};

/// out[o, i] = the position in row (o, i) of the logits x that its number of [0, 1) draws, by math::sampled_row; -1:
/// all are NaN or -infinity.
struct sample_rows {
  static constexpr char const* name = "mtf::sample_rows";
  rows of;
  std::int32_t* out;
  float const* x;
  double const* uniform;
  math::sample_options how;
  sample_options_of_rows each;

  [[nodiscard]] constexpr double bytes() const {
    return bytes_moved<float>(of) + bytes_moved<double>(of.count()) + bytes_moved<std::int32_t>(of.count());
  }
};

}  // namespace mtf::primitives
