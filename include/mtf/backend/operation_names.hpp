#pragma once
// Which operation is in progress, for who listens to a backend.
#include <mtf/backend/growing_array.hpp>

namespace mtf {

/// The names of the operations in progress, as a backend is told them.
class operation_names {
 public:
  void enter(char const* operation) {
    inside_.push_back(operation != nullptr || inside_.empty() ? operation : inside_.back());
  }
  void leave() {
    if (!inside_.empty()) inside_.pop_back();
  }

 protected:
  /// The innermost one's.
  [[nodiscard]] char const* name() const {
    return inside_.empty() || inside_.back() == nullptr ? "other" : inside_.back();
  }

 private:
  backend::growing_array<char const*> inside_;
};

}  // namespace mtf
