#pragma once
// JSON lines: a document a line. Needs nlohmann-json.
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>

namespace mtf {

/// The text in a field of the JSON object in a line. A line that is something else, has a key twice, or has no text in
/// the field is a user_error; `where()` names the line, "stories.jsonl:17".
template <class Where>
std::string text_of_json_line(std::string_view line, std::string const& field, Where const& where) {
  try {
    auto const j = detail::strict_json(line, "the line");
    if (!j.is_object()) throw user_error("the line should be an object");
    auto const found = j.find(field);
    if (found == j.end()) throw user_error("the object has no field \"" + field + "\"");
    if (!found->is_string())
      throw user_error("the field \"" + field + "\" should be a text, found " +
                       found->dump(-1, ' ', true).substr(0, 60));
    return found->template get<std::string>();
  } catch (user_error const& e) {
    throw user_error(where() + ": " + e.what());
  }
}

}  // namespace mtf
