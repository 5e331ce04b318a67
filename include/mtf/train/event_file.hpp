#pragma once
// Event files, which TensorBoard shows. Needs ISA-L; a program that links mtf::checkpoint_compiled does not parse it.
#include <cstdint>
#include <string>

#include <mtf/checkpoint/part.hpp>
#include <mtf/train/step_record.hpp>
#include <mtf/train/text_output.hpp>

namespace mtf {

/// A directory's event file of one start of a run. Each start has one of its own: of steps that several have,
/// TensorBoard shows the last's.
class event_file {
 public:
  /// Makes the directory, and in it a file, which says that the run goes on after step `after`. What cannot be made:
  /// failure() says it.
  MTF_CHECKPOINT_CODE void open(std::string const& directory, std::int64_t after);
  /// Numbers of a step, each a scalar under its name. Nothing, if no file is open.
  MTF_CHECKPOINT_CODE void add(std::int64_t step, named_numbers const& numbers);
  /// As text_output's.
  [[nodiscard]] std::string const& failure() const { return to_.failure(); }

 private:
  text_output to_;
  bool open_ = false;
};

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/train/code/event_file.hpp>  // IWYU pragma: export
#endif
