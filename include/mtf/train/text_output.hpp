#pragma once
// What a run writes, with failures in the user's words.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace mtf {

/// A file that is written to, or nothing. After a failure nothing more is written; what failed is kept as a sentence,
/// such as "the log run.jsonl: cannot be written: No space left on device".
class text_output {
 public:
  text_output() = default;
  /// What is open already; null: nothing. `name`: what sentences call it.
  text_output(std::string name, std::FILE* to) : name_(std::move(name)), to_(to) {}
  text_output(text_output const&) = delete;
  text_output& operator=(text_output const&) = delete;
  ~text_output() { close(); }

  /// `mode`: as std::fopen's. Sentences call the file `what` and its path.
  void open(std::string const& what, std::string const& path, char const* mode) {
    name_ = what + " " + path;
    to_ = std::fopen(path.c_str(), mode);
    check(to_ != nullptr);
  }
  /// The text is with the system when this returns.
  void write(std::string const& text) {
    if (to_ != nullptr && failure_.empty())
      check(std::fwrite(text.data(), 1, text.size(), to_) == text.size() && std::fflush(to_) == 0);
  }
  /// The standard output stays open.
  void close() {
    if (to_ != nullptr && to_ != stdout) check(std::fclose(to_) == 0);
    to_ = nullptr;
  }
  /// As if the last call had failed, with this sentence.
  void fail(std::string const& why) {
    if (failure_.empty()) failure_ = why;
  }
  /// Empty: nothing failed.
  [[nodiscard]] std::string const& failure() const { return failure_; }

 private:
  void check(bool good) {
    if (!good && failure_.empty()) failure_ = name_ + ": cannot be written: " + std::strerror(errno);
  }

  std::string name_, failure_;
  std::FILE* to_ = nullptr;
};

}  // namespace mtf
