#pragma once
// The time that work takes, for a profile.
#include <chrono>

#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/profile.hpp>
#include <mtf/backend/scope.hpp>

namespace mtf::kokkos {

/// Adds the time of its life to a table, if there is one. Waits for the work on `exec` at its beginning and end, so
/// that the time is that of the work between.
template <class Exec>
class timed {
 public:
  timed(profile_table* table, Exec const& exec, pass when, limit bound, double flops, double bytes)
      : table_(table), exec_(&exec), when_(when), bound_(bound), flops_(flops), bytes_(bytes) {
    if (table_ == nullptr) return;
    exec_->fence("mtf::profile");
    start_ = clock::now();
  }
  ~timed() {
    if (table_ == nullptr) return;
    exec_->fence("mtf::profile");
    table_->add(when_, bound_, std::chrono::duration<double>(clock::now() - start_).count(), flops_, bytes_);
  }
  timed(timed const&) = delete;
  timed& operator=(timed const&) = delete;

 private:
  using clock = std::chrono::steady_clock;
  profile_table* table_;
  Exec const* exec_;
  pass when_;
  limit bound_;
  double flops_, bytes_;
  clock::time_point start_;
};

}  // namespace mtf::kokkos
