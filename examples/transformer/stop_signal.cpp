#include "stop_signal.hpp"

#include <csignal>

namespace transformer {
namespace {

std::sig_atomic_t volatile asked = 0;

void note(int) { asked = 1; }

}  // namespace

void listen_for_stop() {
  std::signal(SIGTERM, note);
  std::signal(SIGUSR1, note);
}

bool stop_asked() { return asked != 0; }

}  // namespace transformer
