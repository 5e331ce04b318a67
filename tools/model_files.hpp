#pragma once
// Directories of Hugging Face's: what is in them beside the tensors.
#include <map>
#include <string>

namespace mtf::tools {

/// The texts beside a model that is written, by name: its config.json, which keeps what the one in `from` says besides,
/// and the tokenizer.json there. `from`: the directory that the model came from, or anything else, which has none.
/// `element`: of its parameters, "float32". What cannot be read is a user_error.
std::map<std::string, std::string> texts_beside(std::string const& from, std::string const& config,
                                                std::string const& element);

}  // namespace mtf::tools
