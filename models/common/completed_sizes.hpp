#pragma once
// Sizes that follow from others, of a transformer whatever its heads are.
#include <cstdint>
#include <string>

#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>

namespace mtf::models {

/// Where it was not given: heads that share d_model, a d_ff of `widening` times that, as many positions as tokens.
/// `heads`: of queries, which errors call `heads_name`; 0: not known. What cannot be so is a user_error.
inline mtf::extents_value completed_sizes(mtf::extents_value sizes, std::int64_t heads, std::string const& heads_name,
                                          std::int64_t widening) {
  auto const given = [&](char const* name) { return sizes.find(name); };
  if (auto const d_model = given("d_model"); d_model && heads > 0) {
    if (!given("d_head") && *d_model % heads != 0)
      throw mtf::user_error("d_model " + std::to_string(*d_model) + " is no multiple of " + heads_name +
                            std::to_string(heads) + ": give d_head too");
    if (!given("d_head")) sizes.give("d_head", *d_model / heads);
    if (!given("d_ff")) sizes.give("d_ff", widening * *d_model);
  }
  if (auto const sequence = given("sequence"), positions = given("positions"); sequence) {
    if (positions && *positions < *sequence)
      throw mtf::user_error("positions " + std::to_string(*positions) + " are fewer than a sequence's tokens, " +
                            std::to_string(*sequence) + ": give a shorter sequence");
    if (!positions) sizes.give("positions", *sequence);
  }
  if (auto const untied = given("untied_output"); untied && *untied > 1)
    throw mtf::user_error("untied_output is 1, or 0 if the output is the token embedding; found " +
                          std::to_string(*untied));
  return sizes;
}

}  // namespace mtf::models
