#pragma once
// A message from one thread to another, read where it is.
#include <atomic>
#include <cstdint>

#include <mtf/backend/collective_call.hpp>

namespace mtf::threads {

/// What one rank sends: at most one message at a time. The sender posts it and waits until it is taken. If the sender
/// must leave before that, it withdraws the message; if this is being read, it waits for the reader.
class alignas(64) mailbox {
 public:
  backend::collective_call call;
  void const* in = nullptr;

  /// For the sender, who has set `call` and `in`.
  void post(int receiver) {
    state_.fetch_add(name(receiver), std::memory_order_release);
    state_.notify_all();
  }
  void withdraw() noexcept {
    for (auto now = state(); (now & names) != nobody; now = state())
      if ((now & names) == reading)
        state_.wait(now, std::memory_order_acquire);
      else if (state_.compare_exchange_weak(now, now & ~names, std::memory_order_acq_rel))
        return;
  }
  [[nodiscard]] bool empty(std::uint32_t now) const { return (now & names) == nobody; }

  /// For a receiver: true if there is a message for it, which will stay until it is released.
  [[nodiscard]] bool claim(std::uint32_t now, int receiver) {
    while ((now & names) == name(receiver))
      if (state_.compare_exchange_weak(now, now | reading, std::memory_order_acq_rel, std::memory_order_acquire))
        return true;
    return false;
  }
  void release() {
    state_.fetch_and(~names, std::memory_order_release);
    state_.notify_all();
  }

  /// To wait: get state(), check whether the wait is over, and if not sleep(state), which returns when it has changed.
  [[nodiscard]] std::uint32_t state() const { return state_.load(std::memory_order_acquire); }
  void sleep(std::uint32_t now) const { state_.wait(now, std::memory_order_acquire); }
  /// Wakes the ranks that wait here: something else has happened, such as another rank's failure.
  void wake() {
    state_.fetch_add(names + 1, std::memory_order_release);
    state_.notify_all();
  }

 private:
  // The lower half: the receiver's rank + 1, or one of two marks. The upper half counts calls of wake().
  static constexpr std::uint32_t names = 0xffffU, nobody = 0, reading = names;
  static constexpr std::uint32_t name(int receiver) { return static_cast<std::uint32_t>(receiver) + 1; }
  std::atomic<std::uint32_t> state_{nobody};
};

}  // namespace mtf::threads
