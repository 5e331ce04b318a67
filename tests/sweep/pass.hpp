#pragma once
// The library's side of a case: its forward and backward pass on every rank of a mesh.
#include <memory>
#include <string>
#include <vector>

#include "problem.hpp"
#include "slots.hpp"

namespace sweep {

/// What one rank hands back.
struct outcome {
  numbers out;
  std::vector<numbers> gradients;
  std::vector<set> partial;
  std::vector<event> forward, backward;
  std::vector<numbers> sums;  // of gradients whose slots held something: complete
  std::string broken;         // a law of what slots hold
};

/// The ranks of a mesh as threads of this process, each with a Kokkos execution space of its own.
class team {
 public:
  team();
  ~team();
  /// found[r]: what rank r hands back. With `before`, the operands' slots hold something already. The text of the first
  /// exception, if there was one.
  std::string pass(std::vector<outcome>& found, problem const& q, typed_case const& t, situation const& s,
                   answer const& want, std::vector<held_before> const& before = {});

 private:
  struct machines;
  std::unique_ptr<machines> machines_;
};

}  // namespace sweep
