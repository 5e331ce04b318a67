#pragma once
// Questions with several answers, of which one is right, from a file.
#include <cstddef>
#include <string>
#include <vector>

namespace mtf::tools {

struct question {
  std::string context;               // what stands before an answer
  std::vector<std::string> choices;  // two or more, each with some text
  std::size_t answer = 0;            // the right one
};

/// Those of a file of JSON lines, {"question": text, "choices": [text, ...], "answer": number from 0}; "context" may
/// stand for "question". A file that is none, or has no line, is a user_error that names the line.
std::vector<question> questions_in(std::string const& path);

}  // namespace mtf::tools
