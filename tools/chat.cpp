#include "chat.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

#include "model_source.hpp"

namespace mtf::tools {
namespace {

std::string without_space_around(std::string const& text) {
  constexpr char const* space = " \t\r\n";
  auto const first = text.find_first_not_of(space);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(space) - first + 1);
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// What ChatML's template says for the system where nobody else does; none: "".
std::string own_system(std::string const& of) {
  // Line ends stand in literals as they are, or as \n.
  auto const text = replaced(of, "\\n", "\n");
  constexpr std::string_view begin = "<|im_start|>system\n", end = "<|im_end|>";
  auto const at = text.find(begin);
  if (at == std::string::npos) return "";
  auto const from = at + begin.size();
  auto const to = text.find(end, from);
  auto const words = text.substr(from, to == std::string::npos ? 0 : to - from);
  return words.find_first_of("'\"{}") == std::string::npos ? words : "";  // else it is put together
}

}  // namespace

std::string chat_text_by(chat_template const& by, std::vector<message> messages, std::string const& begin) {
  auto const writes = [&](char const* what) { return by.text.find(what) != std::string::npos; };
  std::string text;
  if (writes("<|im_start|>")) {
    auto const system = own_system(by.text);
    if (!system.empty() && (messages.empty() || messages.front().role != "system"))
      messages.insert(messages.begin(), {"system", system});
    for (auto const& m : messages) text += "<|im_start|>" + m.role + "\n" + m.content + "<|im_end|>\n";
    return text + "<|im_start|>assistant\n";
  }
  // (3.1 and later put dates before it.)
  if (writes("<|start_header_id|>") && !writes("Cutting Knowledge Date")) {
    text = begin;
    for (auto const& m : messages)
      text += "<|start_header_id|>" + m.role + "<|end_header_id|>\n\n" + without_space_around(m.content) + "<|eot_id|>";
    return text + "<|start_header_id|>assistant<|end_header_id|>\n\n";
  }
  if (writes("<|user|>") && writes("<|assistant|>") && writes("eos_token") && !writes("<|end|>")) {
    for (auto const& m : messages) text += "<|" + m.role + "|>\n" + m.content + "</s>\n";
    return text + "<|assistant|>\n";
  }
  throw mtf::user_error(by.name +
                        " is none of the templates that are known, ChatML's, Llama 3's, Zephyr's: give --prompt "
                        "with the text as the model was trained on it");
}

std::optional<chat_template> chat_template_of(model_source const& model) {
  if (auto const alone = model.text("chat_template.jinja"))
    return chat_template{*alone, model.name_of("chat_template.jinja")};
  auto const config = model.text("tokenizer_config.json");
  if (!config) return {};
  auto const json = nlohmann::json::parse(*config, nullptr, false);
  if (!json.is_object() || !json.contains("chat_template") || !json["chat_template"].is_string()) return {};
  return chat_template{json["chat_template"].get<std::string>(),
                       model.name_of("tokenizer_config.json") + ": its chat_template"};
}

std::string chat_text(model_source const& model, std::vector<message> const& messages, std::string const& begin) {
  if (auto const by = chat_template_of(model)) return chat_text_by(*by, messages, begin);
  throw mtf::user_error(model.path() +
                        " has no chat_template.jinja, and no chat_template in a tokenizer_config.json: its "
                        "model is none to talk with; give --prompt");
}

}  // namespace mtf::tools
