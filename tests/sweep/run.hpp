#pragma once
// Runs cases and judges them.
#include <string>
#include <vector>

#include "pass.hpp"

namespace sweep {

/// How often what was looked at, of one operation.
struct tally {
  int cases = 0;    // typed calls: (operation, mesh, layouts, partial operands)
  int refused = 0;  // of them, rightly refused
  int runs = 0;     // forward and backward passes
  int sends = 0;    // of them, with collectives compared in both passes
  int failures = 0;
};

struct failure {
  std::string where;  // operation, mesh, layout
  std::string what;
};

class judge {
 public:
  /// All cases of one operation.
  tally run(operation const& op);
  [[nodiscard]] std::vector<failure> const& failures() const { return failures_; }

 private:
  tally run_special(operation const& op);

  team ranks_;
  std::vector<failure> failures_;
};

}  // namespace sweep
