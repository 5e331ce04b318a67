#pragma once
// The library's side of a case: its forward and backward pass on every rank of a mesh.
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <mtf/core/sharding.hpp>

#include "problem.hpp"
#include "slots.hpp"

namespace sweep {

/// What one rank hands back.
struct outcome {
  numbers out;
  mtf::sharding spec;  // of the result, as the library states it
  std::vector<numbers> gradients;
  std::vector<set> partial;
  std::vector<event> forward, backward;
  std::vector<numbers> sums;  // of gradients whose slots held something: complete
  std::string broken;         // a law of what slots hold
};

/// What an operation says when it is called.
struct reply {
  bool refused = false;
  std::string error;  // another exception
  mtf::sharding out;
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

  /// Only the call: is it refused, and if not, what is the sharding of the result?
  reply ask(problem const& q, typed_case const& t, situation const& s);

 private:
  struct machines;
  template <class F>
  std::exception_ptr run(mesh_code const& m, F const& f);
  std::unique_ptr<machines> machines_;
};

}  // namespace sweep
