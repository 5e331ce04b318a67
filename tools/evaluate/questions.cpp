#include "questions.hpp"

#include <cstddef>
#include <fstream>
#include <ios>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

namespace mtf::tools {
namespace {

std::string found(nlohmann::json const& j) {
  return "found " + j.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace).substr(0, 60);
}

/// What is wrong with a line is said without its number.
question question_of(std::string const& line) {
  auto const j = nlohmann::json::parse(line, nullptr, false);
  if (!j.is_object()) throw mtf::user_error("a JSON object was expected, found \"" + line.substr(0, 60) + "\"");
  auto const of = [&](char const* key) { return j.contains(key) ? j[key] : nlohmann::json(); };
  if (j.contains("question") == j.contains("context"))
    throw mtf::user_error("the object should have \"question\" or \"context\", one of them");
  auto const text = j.contains("question") ? of("question") : of("context");
  if (!text.is_string()) throw mtf::user_error("\"question\" or \"context\" should be a text, " + found(text));
  auto const choices = of("choices");
  if (!choices.is_array() || choices.size() < 2)
    throw mtf::user_error("\"choices\" should be a list of two texts or more, " + found(choices));
  question q{.context = text.get<std::string>(), .choices = {}};
  for (auto const& one : choices) {
    if (!one.is_string() || one.get_ref<std::string const&>().empty())
      throw mtf::user_error("\"choices\" should be texts that are not empty, " + found(one));
    q.choices.push_back(one.get<std::string>());
  }
  auto const answer = of("answer");
  if (!answer.is_number_unsigned() || answer.get<std::size_t>() >= choices.size())
    throw mtf::user_error("\"answer\" should be the number of the right choice, from 0 to " +
                          std::to_string(choices.size() - 1) + ", " + found(answer));
  q.answer = answer.get<std::size_t>();
  return q;
}

}  // namespace

std::vector<question> questions_in(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<question> all;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      all.push_back(question_of(line));
    } catch (mtf::user_error const& e) {
      throw mtf::user_error("--choices: " + path + ":" + std::to_string(number) + ": " + e.what());
    }
  }
  if (in.bad() || !in.eof()) throw mtf::user_error("--choices: " + path + " cannot be read");
  if (all.empty()) throw mtf::user_error("--choices: " + path + " has no question");
  return all;
}

}  // namespace mtf::tools
