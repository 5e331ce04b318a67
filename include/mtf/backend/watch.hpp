#pragma once
// Whether what operations make is finite: each result in the order of the program, until one is not.
#include <string>
#include <utility>
#include <vector>

#include <mtf/backend/operation_names.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/sharding.hpp>

namespace mtf {

/// Filled while it is given to a backend, `backend.watch(&results)`; each result is then read once more. For
/// first_not_finite, which says what it found.
class result_watch : public operation_names {
 public:
  /// One result: which operation and pass made it, and how it is sharded.
  struct result {
    std::string made_by;  // operation and pass
    sharding tensor;
  };

  void made(pass when, sharding const& tensor, bool finite) {
    note(std::string(name()) + " " + name_of(when), tensor, finite);
  }
  /// Adds a result.
  void note(std::string made_by, sharding const& tensor, bool finite) {
    results_.push_back({std::move(made_by), tensor});
    found_ = !finite;
  }
  /// A result was not finite, the last of `results`: what follows is not looked at.
  [[nodiscard]] bool found() const { return found_; }
  /// In the order of the program.
  [[nodiscard]] std::vector<result> const& results() const { return results_; }

 private:
  std::vector<result> results_;
  bool found_ = false;
};

}  // namespace mtf
