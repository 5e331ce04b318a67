#pragma once
// Run-time errors: only for what the compiler cannot know (docs/design/errors.md, "Errors at run time").
#include <stdexcept>
#include <string_view>

#include <mtf/core/shown_text.hpp>

namespace mtf {

/// An error that the user can correct: a wrong file, flag or number of ranks. All ranks throw the same one; the text
/// says what was expected, what was found, and what to do. `mtf::run` prints it once and ends all ranks with exit code
/// 2. It is one line that a terminal shows, whatever names are in it: `shown_text` of what it is made of.
struct user_error : std::runtime_error {
  explicit user_error(std::string_view text) : std::runtime_error(shown_text(text)) {}
};

}  // namespace mtf
