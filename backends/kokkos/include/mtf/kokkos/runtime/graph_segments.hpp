#pragma once
// A step's work as graphs: what is launched is recorded instead, and the record launched as a whole. Every step is
// recorded anew, so what a kernel is given may differ from step to step; of the step before only the executable graphs
// are kept, which take what is new.
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace mtf::kokkos {

/// What was done with graphs so far.
struct graph_counts {
  std::size_t launched = 0, instantiated = 0, updated = 0;
};

/// The records of a step, one after the other, and how they are launched. Recording begins before a launch (`record`)
/// and ends where something needs the stream itself (`flush`), or after `longest` calls, so that the device works on
/// one record while the host makes the next. What is launched while nothing is recorded goes to the stream at once. So
/// all work is done once and in the order of the calls, wherever a flush falls.
///
/// `Recorder`: types `graph` and `executable`, which own what they stand for, and
///   begin():               from now on what is launched is recorded; throws, and records nothing, if it cannot
///   end() -> graph:        no longer. What was recorded is lost if it throws
///   empty(graph), instantiate(graph) -> executable, launch(executable)
///   update(executable, graph) -> bool: the executable does what the graph says from now on; false: it cannot
///   cannot_begin(e) noexcept: says it, once
///
/// If a record is lost, that call throws, and all later ones of flush and record too: what tensors hold is not what the
/// program computed.
template <class Recorder>
class graph_segments {
 public:
  explicit graph_segments(Recorder recorder, std::size_t longest = 128)
      : recorder_(std::move(recorder)), longest_(longest) {}
  graph_segments(graph_segments const&) = delete;
  graph_segments& operator=(graph_segments const&) = delete;

  /// The first steps after this launch as ever: memory is taken, kernels are loaded and products chosen there. To be
  /// called between steps.
  void turn(bool on) {
    on_ = on;
    steps_ = 0;
    if (!on) executables_.clear();
  }
  void begin_step() noexcept {
    in_step_ = true;
    segment_ = 0;
    ++steps_;
  }
  /// Launches what is recorded. If that fails, the next call of flush or record throws it.
  void end_step() noexcept {
    try {
      flush();
    } catch (...) {  // kept as lost_
    }
    in_step_ = false;
  }

  /// Something is launched now, which may be recorded.
  void record() {
    if (lost_) std::rethrow_exception(lost_);
    if (recording_ && calls_ >= longest_) flush();
    if (!recording_ && on_ && in_step_ && steps_ > plain_steps) begin();
    if (recording_) ++calls_;
  }
  /// When this returns all work is in the stream, and nothing is recorded.
  void flush() {
    if (lost_) std::rethrow_exception(lost_);
    if (!recording_) return;
    recording_ = false;
    try {
      launch(recorder_.end());
    } catch (...) {
      lost_ = std::current_exception();
      throw;
    }
  }

  [[nodiscard]] bool recording() const { return recording_; }
  [[nodiscard]] graph_counts const& counts() const { return counts_; }

  static constexpr int plain_steps = 2;

 private:
  void begin() {
    calls_ = 0;
    try {
      recorder_.begin();
      recording_ = true;
    } catch (std::exception const& e) {
      on_ = false;  // nothing is lost: the work is launched as ever
      recorder_.cannot_begin(e);
    }
  }
  void launch(typename Recorder::graph const& graph) {
    if (recorder_.empty(graph)) return;
    if (segment_ == executables_.size()) executables_.emplace_back();
    auto& executable = executables_[segment_];
    if (executable && recorder_.update(*executable, graph)) {
      ++counts_.updated;
    } else {
      executable.reset();
      executable.emplace(recorder_.instantiate(graph));
      ++counts_.instantiated;
    }
    recorder_.launch(*executable);
    ++counts_.launched;
    ++segment_;
  }

  Recorder recorder_;
  std::size_t longest_, calls_ = 0, segment_ = 0;  // the calls of this record; its number in the step
  std::vector<std::optional<typename Recorder::executable>> executables_;
  graph_counts counts_;
  std::exception_ptr lost_;
  int steps_ = 0;
  bool on_ = false, in_step_ = false, recording_ = false;
};

}  // namespace mtf::kokkos
