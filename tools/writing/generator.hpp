#pragma once
// The models that programs write by.
#include <functional>
#include <vector>

#include "../model_choice.hpp"
#include "../sizes.hpp"
#include "model_on_ranks.hpp"

namespace mtf::tools {

/// What a rank does with it.
using writing = std::function<void(model_on_ranks const&)>;

/// What programs ask of one of the models that they have. `run` gives the exit code.
struct generator {
  sizes_of_task sizes;
  bool has_ranks_as_threads = false;
  int (*run)(int& argc, char**& argv, model_choice const& o, writing const& write) = nullptr;
};

/// What a config says of each.
inline std::vector<sizes_of_task> sizes_of_models(std::vector<generator> const& models) {
  std::vector<sizes_of_task> sizes;
  sizes.reserve(models.size());
  for (auto const& model : models) sizes.push_back(model.sizes);
  return sizes;
}

}  // namespace mtf::tools
