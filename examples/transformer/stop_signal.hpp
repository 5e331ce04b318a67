#pragma once
// Signals that ask a run to stop: what schedulers send some time before they kill it.

namespace transformer {

/// From now on SIGTERM and SIGUSR1 do not end the process.
void listen_for_stop();
/// Whether one of them came.
bool stop_asked();

/// What a run returns that stopped so, and can go on: EX_TEMPFAIL of sysexits.h.
inline constexpr int stopped = 75;

}  // namespace transformer
