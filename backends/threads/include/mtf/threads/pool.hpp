#pragma once
// Threads that play the ranks of one mesh after another.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>
#include <mtf/threads/collectives.hpp>
#include <mtf/threads/meeting.hpp>
#include <mtf/threads/world.hpp>

namespace mtf {

/// Threads that are started once and then play the ranks of any mesh that is not larger:
///
///   mtf::rank_threads pool(8);
///   pool.run(my_mesh::shape(), [](mtf::collectives& ranks) { train(ranks); });
///
/// Rank r is always the same thread. So what belongs to a thread, such as a backend's execution space, can be kept from
/// run to run under the rank's number.
class rank_threads {
 public:
  /// How a run ended: the exception of each rank that has its own, and the rank whose was the first. Ranks that left
  /// their collectives because of another's have none.
  struct outcome {
    std::vector<std::exception_ptr> errors;
    int first = -1;  // -1: none
  };

  /// More than can meet, or than the system starts, are a user_error.
  explicit rank_threads(int most) {
    if (most > threads::meeting::most_members)
      throw user_error(std::to_string(most) + " ranks were asked for as threads of one process, which has at most " +
                       std::to_string(threads::meeting::most_members) + ": use a smaller mesh, or mpirun");
    for (int r = 0; r < most; ++r) workers_.emplace_back();
    for (int r = 0; r < most; ++r) try {
        worker(r).thread = std::thread([this, r] { serve(r); });
      } catch (std::system_error const& e) {
        end();
        throw user_error("of " + std::to_string(most) + " ranks as threads only " + std::to_string(r) +
                         " could be started: " + e.code().message() +
                         "; use a smaller mesh, or raise the limit of "
                         "processes (ulimit -u)");
      }
  }
  ~rank_threads() { end(); }
  rank_threads(rank_threads const&) = delete;
  rank_threads& operator=(rank_threads const&) = delete;

  /// The most ranks that a mesh may have here.
  [[nodiscard]] int size() const { return static_cast<int>(workers_.size()); }

  /// Calls f(ranks) on as many threads as the mesh has ranks, each with its rank's collectives, and returns when all
  /// have ended. A rank that throws, or that ends while others wait for it, ends all; so do ranks that all wait for
  /// each other, after two seconds. `text` names the mesh in errors.
  template <class F>
  outcome try_run(mesh_shape const& mesh, F const& f, std::string text = {}) {
    int const n = mesh.size();
    if (n > size())
      throw std::invalid_argument("mtf::rank_threads: the mesh has " + std::to_string(n) + " ranks, the pool " +
                                  std::to_string(size()) + " threads");
    thread_world world(mesh, std::move(text));
    outcome result;
    result.errors.resize(static_cast<std::size_t>(n));
    std::atomic<int> first = -1;
    std::function<void(int)> const body = [&](int rank) {
      try {
        thread_collectives ranks(world, rank);
        f(static_cast<collectives&>(ranks));
        world.leave(rank);
      } catch (threads::ranks_have_failed const&) {
      } catch (...) {
        result.errors[static_cast<std::size_t>(rank)] = std::current_exception();
        int none = -1;
        first.compare_exchange_strong(none, rank);
        world.fail();
      }
    };
    body_ = &body;
    running_ = n;
    for (int r = 0; r < n; ++r) worker(r).call();
    if (auto const circle = watch(world); !circle.empty()) {
      result.errors[0] = std::make_exception_ptr(std::logic_error("all ranks wait for each other: " + circle));
      first = 0;
    }
    result.first = first;
    return result;
  }
  /// The same; throws what the first rank that failed has thrown.
  template <class F>
  void run(mesh_shape const& mesh, F const& f, std::string text = {}) {
    auto const ended = try_run(mesh, f, std::move(text));
    if (ended.first >= 0) std::rethrow_exception(ended.errors[static_cast<std::size_t>(ended.first)]);
  }

 private:
  void end() {
    body_ = nullptr;
    for (auto& w : workers_)
      if (w.thread.joinable()) w.call();
    for (auto& w : workers_)
      if (w.thread.joinable()) w.thread.join();
  }
  struct alignas(64) one {
    std::atomic<std::uint32_t> calls{0};
    std::thread thread;

    void call() {
      calls.fetch_add(1, std::memory_order_release);
      calls.notify_one();
    }
  };

  /// Returns when all workers have ended. If all ranks wait for each other, it ends them and returns where they waited.
  std::string watch(thread_world& world) {
    constexpr std::chrono::milliseconds period{500};
    constexpr int patience = 4;  // periods in which nothing has happened
    std::string circle;
    std::unique_lock lock(mutex_);
    std::uint64_t before = 0;
    for (int still = 0; !ended_.wait_for(lock, period, [&] { return running_ == 0; });) {
      auto const now = world.waits();
      still = now == before && (now & 0xffffffffU) == static_cast<std::uint64_t>(running_) ? still + 1 : 0;
      before = now;
      if (still < patience || !circle.empty()) continue;
      circle = world.where_all_wait();
      world.fail();
    }
    return circle;
  }
  [[nodiscard]] one& worker(int rank) { return workers_[static_cast<std::size_t>(rank)]; }
  void serve(int rank) {
    for (std::uint32_t seen = 0;; ++seen) {
      worker(rank).calls.wait(seen, std::memory_order_acquire);
      if (body_ == nullptr) return;
      (*body_)(rank);
      std::lock_guard const lock(mutex_);
      if (--running_ == 0) ended_.notify_one();
    }
  }

  std::function<void(int)> const* body_ = nullptr;
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
  std::deque<one> workers_;
};

}  // namespace mtf
