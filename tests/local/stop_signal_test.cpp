// Signals that come during products change nothing but what stop_asked() says. devices: none
#include <atomic>
#include <chrono>
#include <thread>

#include <signal.h>  // NOLINT: <csignal> has no kill
#include <unistd.h>
#include <mtf/train/stop_signal.hpp>

#include "kernels_fixture.hpp"

namespace kernels {
namespace {

// Where k exceeds 84 oneDNN's sgemm has the stack pointer in memory of malloc's.
TEST_CASE("a stop signal during a product leaves malloc's memory alone") {
  constexpr index m = 512, n = 512, k = 256;
  mtf::backend::contraction const w = product_of(m, n, k, false, false, k, n);
  auto const a = numbers(m * k, 1), b = numbers(k * n, 2);
  array<float> const in_a(a), in_b(b), c(m * n);
  auto const product = [&] {
    device().run(
        primitives::contract{w, static_cast<float const*>(in_a.get()), static_cast<float const*>(in_b.get()), c.get()});
  };
  product();
  auto const without = c.raw();

  // Without doctest's, which programs do not have.
  stack_t none{};  // NOLINT(misc-include-cleaner): of <signal.h>
  none.ss_flags = SS_DISABLE;
  REQUIRE(::sigaltstack(&none, nullptr) == 0);
  mtf::listen_for_stop();
  constexpr int signals = 200;
  std::atomic<int> came = 0;
  // The next is sent when the one before has come: of two at once the system could give one to another thread.
  std::thread sender([&] {
    for (int i = 0; i < signals; ++i) {
      while (came < i) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::microseconds(i * 37 % 500));
      ::kill(::getpid(), i % 2 == 0 ? SIGUSR1 : SIGTERM);
    }
  });
  while (came < signals) {
    product();
    if (!mtf::stop_asked()) continue;
    mtf::detail::stop_signal_came = 0;
    ++came;
  }
  sender.join();
  CHECK(c.raw() == without);
}

}  // namespace
}  // namespace kernels
