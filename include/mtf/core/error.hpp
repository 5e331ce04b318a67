#pragma once
// Run-time errors: only for what the compiler cannot know (docs/design.md, "Errors at run time").
#include <stdexcept>

namespace mtf {

/// An error that the user can mend: a wrong file, flag or number of ranks. All ranks throw it alike; the text says what
/// was expected, what was found, and what to do. `mtf::run` prints it once and ends all ranks with exit code 2.
struct user_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace mtf
