#pragma once
// A report's JSON.
#include <array>
#include <cstddef>
#include <ctime>
#include <string>

#include <nlohmann/json.hpp>

#include <mtf/backend/profile.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/train/run_history.hpp>
#include <mtf/train/run_report.hpp>  // NOLINT(misc-header-include-cycle)

namespace mtf {

namespace detail {

inline nlohmann::json json_of_curve(run_curve const& c) {
  auto all = nlohmann::json::array();
  for (auto const& p : c.points()) {
    if (p.least < p.largest)
      all.push_back({p.step, p.mean, p.least, p.largest});
    else
      all.push_back({p.step, p.mean});
  }
  return all;
}

inline nlohmann::json json_of_profile(run_state const& now) {
  constexpr std::array<char const*, 3> kinds{"product", "kernel", "collective"};
  auto rows = nlohmann::json::array();
  for (auto const& r : now.profile->rows())
    rows.push_back({{"operation", r.operation},
                    {"pass", name_of(r.when)},
                    {"kind", kinds[static_cast<std::size_t>(r.bound)]},
                    {"calls", r.calls},
                    {"seconds", r.seconds},
                    {"flops", r.flops},
                    {"bytes", r.bytes}});
  return {{"steps", now.profiled_steps},
          {"seconds", now.profiled_seconds},
          {"flops_per_second", now.limits.flops},
          {"bytes_per_second", now.limits.bandwidth},
          {"rows", rows}};
}

}  // namespace detail

std::string report_json(run_description const& about, run_state const& now, run_history const& history) {
  std::array<char, 40> written{};
  auto const t = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&t, &utc);
  std::strftime(written.data(), written.size(), "%Y-%m-%d %H:%M UTC", &utc);
  nlohmann::json j{{"title", about.title},         {"facts", about.facts},
                   {"plan", about.plan},           {"loss_scale", about.loss_scale},
                   {"unit", about.loss_unit},      {"state", now.words},
                   {"written", written.data()},    {"step", now.step},
                   {"steps", now.steps},           {"resumed_after", now.resumed_after},
                   {"evaluation", now.evaluation}, {"item", now.item},
                   {"items", now.items},           {"phases", now.phases},
                   {"remarks", history.remarks()}, {"curves", nlohmann::json::object()}};
  if (!about.reference.first.empty()) j["reference"] = about.reference;
  for (auto const& [name, curve] : history.curves()) j["curves"][name] = detail::json_of_curve(curve);
  if (now.profile != nullptr && now.profiled_steps > 0) j["profile"] = detail::json_of_profile(now);
  return j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace mtf
