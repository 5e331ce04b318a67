#pragma once
// What programs write, with their failures in the user's words.
#include <cstdio>
#include <string>
#include <utility>

namespace transformer {

/// What is written to: a file, or nothing. After a failure, nothing more; it is kept in the user's words.
class output {
 public:
  output() = default;
  output(std::string name, std::FILE* to) : name_(std::move(name)), to_(to) {}
  ~output() { close(); }
  output(output const&) = delete;
  output& operator=(output const&) = delete;

  void open(std::string const& name, std::string const& path, char const* mode);
  void write(std::string const& text);
  void close();
  [[nodiscard]] std::string const& failure() const { return failure_; }

 private:
  void check(bool good);

  std::string name_, failure_;
  std::FILE* to_ = nullptr;
};

}  // namespace transformer
