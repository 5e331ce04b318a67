#pragma once
// Reading a model's config file. Needs what mtf/checkpoint/save.hpp does.
#include <string>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/checkpoint/part.hpp>

namespace mtf {

/// The values of a JSON file. Not read, no JSON object, a key twice: a user_error.
MTF_CHECKPOINT_CODE config_values config_from(std::string const& path);
/// The same of a text that no file has. `name`: what errors call it.
MTF_CHECKPOINT_CODE config_values config_of_text(std::string const& text, std::string const& name);

}  // namespace mtf

#if !defined(MTF_CHECKPOINT_COMPILED)
#include <mtf/checkpoint/code/config_file.hpp>  // IWYU pragma: export
#endif
