#pragma once
// A run's checkpoints: which there are, which go.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <mtf/backend/collectives.hpp>
#include <mtf/checkpoint/checkpoints.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/checkpoint/part.hpp>
#include <mtf/core/error.hpp>
#include <mtf/detail/checkpoint/agree.hpp>
#include <mtf/detail/checkpoint/beside.hpp>
#include <mtf/detail/checkpoint/directory.hpp>
#include <mtf/detail/checkpoint/directory_lock.hpp>
#include <mtf/detail/checkpoint/stored_tensor.hpp>
#include <mtf/detail/checkpoint/write.hpp>

namespace mtf {

checkpoints::checkpoints(collectives& ranks, checkpoint_options options)
    : ranks_(&ranks), options_(std::move(options)) {
  auto const take = [&] {
    std::error_code why;
    std::filesystem::create_directories(options_.directory, why);
    if (why) throw user_error(options_.directory + " cannot be made: " + why.message());
    lock_ = new detail::directory_lock(options_.directory);
  };
  auto const failure = ranks.rank() == 0 ? detail::failure_of(take) : "";
  try {
    detail::agree(ranks, failure);
  } catch (...) {
    delete lock_;
    throw;
  }
}

checkpoints::~checkpoints() {
  delete on_its_way_;
  delete lock_;
  delete copies_;
}

void checkpoints::begin(std::int64_t step, checkpoint_notes notes, std::vector<detail::stored_part> const& parts) {
  finish();
  if (copies_ == nullptr) copies_ = new detail::copies;
  notes["step"] = std::to_string(step);
  try {
    on_its_way_ = new detail::checkpoint_writing(*ranks_, directory_of(step), parts, std::move(notes),
                                                 options_.largest_file, copies_);
  } catch (user_error const& e) {
    if (!options_.not_written) throw;
    options_.not_written(e.what());
  }
}

bool checkpoints::poll() { return on_its_way_ != nullptr && on_its_way_->written(*ranks_) && finish(); }

bool checkpoints::finish() {
  if (on_its_way_ == nullptr) return false;
  std::unique_ptr<detail::checkpoint_writing> const now(std::exchange(on_its_way_, nullptr));
  try {
    now->complete(*ranks_);
  } catch (user_error const& e) {
    if (!options_.not_written) throw;
    options_.not_written(e.what());
    return false;
  }
  if (ranks_->rank() == 0) remove_old();
  return true;
}

std::optional<std::int64_t> checkpoints::newest(std::int64_t before) const {
  std::int64_t found = -1;
  if (ranks_->rank() == 0)
    for (auto const step : complete_steps())
      if (step < before) found = std::max(found, step);
  auto const of_first = detail::of_all_ranks(*ranks_, std::vector{found}).front();
  return of_first < 0 ? std::nullopt : std::optional(of_first);
}

std::string checkpoints::directory_of(std::int64_t step) const {
  auto const digits = std::to_string(step);
  return options_.directory + "/step-" + std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

std::vector<std::int64_t> checkpoints::complete_steps() const {
  namespace fs = std::filesystem;
  std::vector<std::int64_t> steps;
  std::error_code why;
  for (fs::directory_iterator at(options_.directory, why), end; !why && at != end; at.increment(why)) {
    auto const name = at->path().filename().string();
    bool const named = name.size() >= 13 && name.size() < 24 && name.starts_with("step-") &&
                       name.find_first_not_of("0123456789", 5) == std::string::npos;
    if (named && detail::is_checkpoint(at->path().string())) steps.push_back(std::stoll(name.substr(5)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

// What cannot be removed stays: that is no reason to end a run.
void checkpoints::remove_old() const {
  if (options_.keep <= 0) return;
  auto const steps = complete_steps();
  for (std::size_t i = 0; i + static_cast<std::size_t>(options_.keep) < steps.size(); ++i) {
    if (options_.keep_every > 0 && steps[i] % options_.keep_every == 0) continue;
    detail::remove_checkpoint(directory_of(steps[i]));
  }
}

}  // namespace mtf
