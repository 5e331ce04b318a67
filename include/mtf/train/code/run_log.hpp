#pragma once
// Writing a log, and reading what one has.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/file.hpp>
#include <mtf/train/run_history.hpp>
#include <mtf/train/run_log.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/train/step_record.hpp>
#include <mtf/train/text_output.hpp>

namespace mtf {

namespace detail {

/// The lines of a log up to a step's.
inline std::string lines_until(std::string const& path, std::int64_t step, std::string const& repeated,
                               run_history& history) {
  std::ifstream in(path);
  std::string all;
  std::optional<double> last;
  for (std::string line; std::getline(in, line);) {
    auto const json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer()) continue;
    step_record r{json["step"].get<std::int64_t>(), {}};
    if (r.step > step) continue;
    all += line + "\n";
    for (auto const& [name, value] : json.items()) {
      if (name == "remark" && value.is_string()) r.remark = value.get<std::string>();
      if (name == "step" || !value.is_number()) continue;
      auto const x = value.get<double>();
      if (name != repeated || last != x) r.numbers.emplace_back(name, x);
      if (name == repeated) last = x;
    }
    history.add(r);
  }
  return all;
}

std::int64_t last_step_of_log(std::string const& path) {
  std::int64_t last = 0;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    auto const json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("step") && json["step"].is_number_integer())
      last = std::max(last, json["step"].get<std::int64_t>());
  }
  return last;
}

}  // namespace detail

void run_log::open(std::string const& path, std::int64_t after, std::string const& repeated, run_history& history) {
  std::error_code none;
  if (after > 0 && !std::filesystem::is_other(path, none)) {  // a pipe or a terminal has no lines until then
    // Appended to what it has it would tell steps twice.
    auto const kept = detail::lines_until(path, after, repeated, history);
    if (auto const why = detail::failure_of([&] { detail::replace_by(path, kept); }); !why.empty())
      return to_.fail("the log " + why);
  }
  to_.open("the log", path, after > 0 ? "a" : "w");
}

void run_log::add(step_record const& r) {
  nlohmann::json line{{"step", r.step}};
  for (auto const& [name, value] : r.numbers) line[name] = value;
  if (!r.remark.empty()) line["remark"] = r.remark;
  to_.write(line.dump() + "\n");
}

}  // namespace mtf
