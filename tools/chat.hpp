#pragma once
// A conversation as the text that a model was trained on.
#include <optional>
#include <string>
#include <vector>

#include "model_source.hpp"

namespace mtf::tools {

/// One turn of it. `role`: "system", "user", "assistant".
struct message {
  std::string role, content;
};

/// How a model writes a conversation.
struct chat_template {
  std::string text;
  std::string name;  // in errors: the file, or what of it
};
/// Of chat_template.jinja, or chat_template in tokenizer_config.json; a directory without either has none.
std::optional<chat_template> chat_template_of(model_source const& model);

/// The messages, and the beginning of the answer, as a template has them. It is not run but known, by what it writes
/// around a message: ChatML's, with the words of the system that it gives where there are none; Llama 3's; Zephyr's.
/// Any other is a user_error. `begin`: the text of the token that begins a text.
std::string chat_text_by(chat_template const& by, std::vector<message> messages, std::string const& begin);

/// The same of a model's; that it has none is a user_error.
std::string chat_text(model_source const& model, std::vector<message> const& messages, std::string const& begin);

}  // namespace mtf::tools
