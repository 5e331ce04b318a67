#pragma once
// How far a run is.
#include <string>

#include <mtf/checkpoint/part.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/step_record.hpp>

namespace mtf::detail {

/// The name of the evaluation's value in logs: "validation" in "bits/byte" is "validation_bits_per_byte".
MTF_CHECKPOINT_CODE std::string evaluation_name(loop_options const& o);

/// The numbers of the last step, and means over the steps of this start.
struct run_progress {
  int step = 0;
  double loss = 0, evaluation = 0, learning_rate = 0, gradient_norm = 0;
  double seconds = 0;                     // of this step
  double mean_seconds = 0;                // of a step
  double flops = 0, peak = 0;             // of matrix products, a second, on all ranks; 0: unknown
  double peak_bytes = 0, live_bytes = 0;  // of tensors on this rank: at most in this step, and after it

  [[nodiscard]] MTF_CHECKPOINT_CODE named_numbers numbers(loop_options const& o) const;
  /// A line for people.
  [[nodiscard]] MTF_CHECKPOINT_CODE std::string line(loop_options const& o) const;
};

}  // namespace mtf::detail

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/detail/train/code/run_progress.hpp>  // IWYU pragma: export
#endif
