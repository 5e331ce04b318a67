#pragma once
// Signals that ask a run to stop: what schedulers send some time before they kill it.
#include <csignal>
#include <initializer_list>

#include <signal.h>  // NOLINT: <csignal> has no SIGUSR1

namespace mtf {

namespace detail {
inline std::sig_atomic_t volatile stop_signal_came = 0;
}  // namespace detail

/// From now on SIGTERM and SIGUSR1 do not end the process: stop_asked() tells of them.
inline void listen_for_stop() {
  for (int const s : {SIGTERM, SIGUSR1}) std::signal(s, [](int) { detail::stop_signal_came = 1; });
}
/// Whether one of them came to this process.
inline bool stop_asked() { return detail::stop_signal_came != 0; }

/// What a program returns whose run stopped so, and can go on: EX_TEMPFAIL of sysexits.h.
inline constexpr int run_stopped = 75;

}  // namespace mtf
