#pragma once
// The arrays in a model's files, beside those that a model has there. Only headers of files are read.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/checkpoint/stored_names.hpp>

#include "../model_source.hpp"

namespace mtf::tools {

/// What is in model.safetensors, or in the files of model.safetensors.index.json, or in a GGUF file.
struct stored_arrays {
  std::vector<std::string> files{};         // their names; none: the directory has no weights
  std::uint64_t bytes = 0;                  // of all files
  std::vector<mtf::stored_array> arrays{};  // in the order of files and bytes
  std::vector<std::string> types{};         // of their elements in the files
};

/// Of a GGUF file: its arrays as they are read. A file that is no safetensors file, or that the index names and is not
/// there, is a user_error.
stored_arrays arrays_of(model_source const& model);

/// A tensor that a model has, and its dimensions' names and extents, outermost first.
struct model_tensor {
  std::string name;
  std::vector<std::pair<std::string_view, std::int64_t>> dims{};
};

/// What the files have otherwise than the model, each as a name, or a name and what is so.
struct file_differences {
  std::vector<std::string> missing{}, unexpected{}, different{};
};

/// By the names that another tool's files have of the model's tensors. A tensor that has no name there: a user_error.
file_differences differences_of(stored_arrays const& files, std::vector<model_tensor> const& tensors,
                                mtf::stored_names const& names);

/// "blocks.3.wq" as "blocks.*.wq": the numbers of layers are replaced.
std::string without_numbers(std::string const& name);

/// "4, 8"
std::string text_of(std::vector<std::int64_t> const& shape);

}  // namespace mtf::tools
