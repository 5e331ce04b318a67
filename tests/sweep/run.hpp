#pragma once
// Runs cases and judges them.
#include <string>
#include <vector>

#include "pass.hpp"

namespace sweep {

/// How often what was looked at, of one operation.
struct tally {
  int cases = 0;    // (operation, mesh, layouts, partial operands), typed or by value
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
  /// Of the cases that differ so many of each family on a mesh; 0: ctest's sample.
  explicit judge(int most) : most_(most) {}
  /// The cases of one operation.
  tally run(operation const& op);
  [[nodiscard]] std::vector<failure> const& failures() const { return failures_; }

 private:
  tally run_special(operation const& op);
  /// f(case): those that are typed, then by value, mesh after mesh.
  template <class F>
  void each_case(operation const& op, F const& f) const;

  int most_;

  team ranks_;
  std::vector<failure> failures_;
};

}  // namespace sweep
