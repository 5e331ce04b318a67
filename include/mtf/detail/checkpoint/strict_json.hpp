#pragma once
// JSON that may come from anywhere.
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

namespace mtf::detail {

/// The JSON in `text`; `what` names it in errors. Two equal keys in one object, which readers take differently, and
/// more than 64 levels are user_errors, as is anything else that is not JSON.
inline nlohmann::json strict_json(std::string_view text, std::string const& what) {
  using event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string>> seen;
  auto const check = [&](int depth, event e, nlohmann::json& parsed) {
    if (depth > 64) throw user_error(what + " is nested more than 64 levels deep");
    if (e == event::object_start)
      seen.emplace_back();
    else if (e == event::object_end)
      seen.pop_back();
    else if (e == event::key && !seen.back().insert(parsed.get<std::string>()).second)
      throw user_error(what + " has the key " + parsed.dump(-1, ' ', true).substr(0, 200) + " twice");
    return true;
  };
  try {
    return nlohmann::json::parse(text, check);
  } catch (nlohmann::json::exception const& e) {
    throw user_error(what + " is not JSON: " + std::string(e.what()).substr(0, 300));
  }
}

}  // namespace mtf::detail
