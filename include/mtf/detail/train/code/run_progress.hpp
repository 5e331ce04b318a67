#pragma once
// How far a run is, in numbers and in words.
#include <array>
#include <cstdio>
#include <string>

#include <mtf/detail/train/run_progress.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/train/loop_options.hpp>
#include <mtf/train/step_record.hpp>

namespace mtf::detail {

std::string evaluation_name(loop_options const& o) {
  auto name = o.evaluation;
  if (!o.evaluation_unit.empty()) name += "_";
  for (char const c : o.evaluation_unit) c == '/' ? name += "_per_" : name += c;
  return name;
}

named_numbers run_progress::numbers(loop_options const& o) const {
  named_numbers all{{"loss", loss},       {"learning_rate", learning_rate}, {"gradient_norm", gradient_norm},
                    {"seconds", seconds}, {"peak_bytes", peak_bytes},       {"live_bytes", live_bytes}};
  if (o.evaluate) all.emplace_back(evaluation_name(o), evaluation);
  if (o.items > 0) all.emplace_back(o.item + "_per_second", o.items / mean_seconds);
  if (flops > 0) all.emplace_back("gflops", flops / 1e9);
  if (flops > 0 && peak > 0) all.emplace_back("peak_share", flops / peak);
  return all;
}

std::string run_progress::line(loop_options const& o) const {
  std::string text;
  auto const add = [&](char const* format, auto... x) {
    std::array<char, 120> part{};
    std::snprintf(part.data(), part.size(), format, x...);
    text += part.data();
  };
  auto const unit = o.evaluation_unit.empty() ? "" : " " + o.evaluation_unit;
  if (step == 0) {
    text = "before training: " + o.evaluation;
    add(" %.3f", evaluation);
    return text + unit;
  }
  add("step %4d/%d  loss %.4f", step, o.steps, loss);
  if (o.evaluate) {
    text += "  " + o.evaluation;
    add(" %.3f", evaluation);
    text += unit;
  }
  if (o.items > 0) {
    add("  %6.0f ", o.items / mean_seconds);
    text += o.item + "/s";
  }
  if (flops > 0) add("  %6.1f GFLOP/s", flops / 1e9);
  if (flops > 0 && peak > 0) add(" (%2.0f%% of peak)", 100 * flops / peak);
  auto const left = static_cast<long long>(mean_seconds * (o.steps - step));
  if (left >= 3600) {
    add("  %lld:%02lld:%02lld left", left / 3600, left / 60 % 60, left % 60);
  } else {
    add("  %lld:%02lld left", left / 60, left % 60);
  }
  return text;
}

}  // namespace mtf::detail
