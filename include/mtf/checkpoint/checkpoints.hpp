#pragma once
// The checkpoints of a run: DIRECTORY/step-00000100, written while the training goes on. Needs what
// mtf/checkpoint/save.hpp does.
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/part.hpp>
#include <mtf/checkpoint/save.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>

namespace mtf {

namespace detail {
class checkpoint_writing;
class copies;
class directory_lock;
}  // namespace detail

/// Where checkpoints are, and which are kept.
struct checkpoint_options {
  std::string directory;
  int keep = 3;                 // the newest so many; 0: all
  std::int64_t keep_every = 0;  // and each whose step is a multiple of this; 0: no others
  std::uint64_t largest_file = largest_checkpoint_file;
  // Called on all ranks with a sentence that says why a checkpoint could not be written; then the run goes on, and the
  // next one is tried. Empty: that is a user_error.
  std::function<void(std::string const& why)> not_written{};
};

/// The checkpoints of a run. At most one is on its way to the disk; training goes on meanwhile, and keeps all but a few
/// hundredths of the processor. Memory for a copy of what a rank writes is kept between checkpoints. All ranks make the
/// same calls in the same order. Whenever a run is killed, the newest complete checkpoint is whole.
class checkpoints {
 public:
  /// Makes the directory, and takes it for this run alone until its end. One that cannot be made, or that another run
  /// has, is a user_error.
  MTF_CHECKPOINT_CODE checkpoints(collectives& ranks, checkpoint_options options);
  checkpoints(checkpoints const&) = delete;
  checkpoints& operator=(checkpoints const&) = delete;
  /// What is on its way is given up, and removed: call `finish` first.
  MTF_CHECKPOINT_CODE ~checkpoints();

  /// Copies the parts and begins to write them as the checkpoint of this step; they may change when it returns. Waits
  /// for the one before. As save_parts; the notes get the step.
  template <class... T>
  void write(std::int64_t step, checkpoint_notes const& notes, checkpoint_part<T> const&... parts) {
    begin(step, notes, detail::parts_to_write(parts...));
  }
  /// To be called once a step: completes the checkpoint that is on its way if all ranks have written their parts, and
  /// removes those that are not kept. Returns whether it is complete now. What went wrong is a user_error, or passed to
  /// `not_written`.
  MTF_CHECKPOINT_CODE bool poll();
  /// Waits for the checkpoint that is on its way, and completes it. Returns whether a new one is complete now.
  MTF_CHECKPOINT_CODE bool finish();

  /// The step of the newest complete checkpoint before step `before`, if there is one.
  [[nodiscard]] MTF_CHECKPOINT_CODE std::optional<std::int64_t> newest(
      std::int64_t before = std::numeric_limits<std::int64_t>::max()) const;
  /// Reads the checkpoint of a step, as load_parts; gives its notes.
  template <class Backend, class... T>
  checkpoint_notes read(Backend& b, std::int64_t step, checkpoint_part<T> const&... parts) const {
    return load_parts(b, directory_of(step), parts...);
  }
  /// DIRECTORY/step-00000100.
  [[nodiscard]] MTF_CHECKPOINT_CODE std::string directory_of(std::int64_t step) const;

 private:
  MTF_CHECKPOINT_CODE void begin(std::int64_t step, checkpoint_notes notes,
                                 std::vector<detail::stored_part> const& parts);
  [[nodiscard]] MTF_CHECKPOINT_CODE std::vector<std::int64_t> complete_steps() const;
  MTF_CHECKPOINT_CODE void remove_old() const;

  collectives* ranks_;
  checkpoint_options options_;
  // Owned: a std::unique_ptr would want the classes.
  detail::checkpoint_writing* on_its_way_ = nullptr;
  detail::directory_lock* lock_ = nullptr;  // the first rank's
  detail::copies* copies_ = nullptr;        // kept: making it anew takes longer than copying into it
};

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/checkpoint/code/checkpoints.hpp>  // IWYU pragma: export
#endif
