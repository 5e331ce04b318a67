#pragma once
// The program `inspect`, but for the models.
#include <cstdint>
#include <string>
#include <vector>

#include <mtf/checkpoint/stored_names.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>

#include "../sizes.hpp"

namespace mtf::tools {

/// What is asked of a model: where its tensors would lie.
struct layout_asked {
  std::string mesh, layout;
  mtf::extents_value extents{};          // that config.json says
  std::int64_t rows = 1, positions = 0;  // of the cache; 0: as many as the model has
};

/// A tensor, and where it would lie.
struct laid_tensor {
  std::string name;
  mtf::sharding where{};
  int element_bytes = 0;
};

/// Of all its tensors.
struct laid_model {
  mtf::mesh_shape mesh{};
  mtf::extents_value extents{};          // all of them
  std::int64_t rows = 1, positions = 0;  // of the cache: a multiple of the ranks that split them
  std::vector<laid_tensor> parameters{}, cache{};
  mtf::stored_names names{};
};

/// What `inspect` asks of one of the models that it has. What cannot lie so is a user_error.
struct inspector {
  sizes_of_task sizes;
  laid_model (*laid)(layout_asked const& asked) = nullptr;
};

/// What the program does, by its command line. Gives the exit code.
int inspect_by(int argc, char** argv, std::vector<inspector> const& models);

}  // namespace mtf::tools
