#pragma once
// Signals that ask a run to stop: what schedulers send some time before they kill it.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <initializer_list>
#include <memory>

#include <signal.h>  // NOLINT: <csignal> has no sigaction

namespace mtf {

namespace detail {
inline std::sig_atomic_t volatile stop_signal_came = 0;

/// Memory in which the calling thread's signal handlers run, if they ask for it; the thread may have some already.
class signal_stack {
 public:
  signal_stack() {
    stack_t now{};  // NOLINT(misc-include-cleaner): of <signal.h>
    if (::sigaltstack(nullptr, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0) return;
    auto const bytes = std::max(static_cast<std::size_t>(SIGSTKSZ), std::size_t{64} << 10U);
    memory_ = std::make_unique<std::byte[]>(bytes);
    stack_t ours{};
    ours.ss_sp = memory_.get();
    ours.ss_size = bytes;
    ::sigaltstack(&ours, nullptr);
  }
  signal_stack(signal_stack const&) = delete;
  signal_stack& operator=(signal_stack const&) = delete;
  ~signal_stack() {
    if (!memory_) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
};
}  // namespace detail

/// From now on SIGTERM and SIGUSR1 do not end the process: stop_asked() tells of them. To be called by the thread that
/// computes.
///
/// The handler runs on a stack of its own: before version 3.11.2 oneDNN's sgemm moves the stack pointer into memory of
/// malloc's, and a handler's frame there overwrites what lies below
/// (https://github.com/uxlfoundation/oneDNN/issues/4845). The system gives a process' signal to its first thread,
/// unless another signal waits for that; so other threads of an OpenMP team do not need one.
inline void listen_for_stop() {
  static thread_local detail::signal_stack const stack;
  struct sigaction action{};
  action.sa_handler = [](int) { detail::stop_signal_came = 1; };
  action.sa_flags = SA_ONSTACK | SA_RESTART;
  for (int const s : {SIGTERM, SIGUSR1}) ::sigaction(s, &action, nullptr);
}
/// Whether one of them came to this process.
inline bool stop_asked() { return detail::stop_signal_came != 0; }

/// What a program returns whose run stopped so, and can go on: EX_TEMPFAIL of sysexits.h.
inline constexpr int run_stopped = 75;

}  // namespace mtf
