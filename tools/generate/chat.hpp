#pragma once
// A conversation as the text that a model was trained on.
#include <string>
#include <vector>

namespace mtf::tools {

/// One turn of it. `role`: "system", "user", "assistant".
struct message {
  std::string role, content;
};

/// The messages, and the beginning of the answer, as the template of a directory of Hugging Face's has them:
/// chat_template.jinja, or chat_template in tokenizer_config.json. The template is not run but known, by what it writes
/// around a message: ChatML's, with the words of the system that it gives where there are none; Llama 3's; Zephyr's.
/// Any other is a user_error. `begin`: the text of the token that begins a text.
std::string chat_text(std::string const& directory, std::vector<message> const& messages, std::string const& begin);

/// The same of a template.
std::string chat_text_by(std::string const& chat_template, std::string const& path, std::vector<message> messages,
                         std::string const& begin);

}  // namespace mtf::tools
