#pragma once
// Marks in a device's stream that remember when the work before them was done.
#include <stdexcept>
#include <string>
#include <utility>

#include <Kokkos_Core.hpp>
#include <mtf/kokkos/runtime/staging.hpp>

namespace mtf::kokkos {

/// Whether an execution space has such marks.
template <class Exec>
inline constexpr bool has_events = false;
/// Where it has none.
template <class Exec>
class stream_event {};

// Both vendors' functions have the same names behind these.
#if defined(KOKKOS_ENABLE_CUDA)
#define MTF_VENDORS(NAME) cuda##NAME
using device_space = Kokkos::Cuda;
#elif defined(KOKKOS_ENABLE_HIP)
#define MTF_VENDORS(NAME) hip##NAME
using device_space = Kokkos::HIP;
#endif

#if defined(MTF_VENDORS)
template <>
inline constexpr bool has_events<device_space> = true;
template <>
class stream_event<device_space> {
 public:
  stream_event() = default;
  explicit stream_event(device_space const& exec) {
    check(MTF_VENDORS(EventCreate)(&event_));
    check(MTF_VENDORS(EventRecord)(event_, static_cast<MTF_VENDORS(Stream_t)>(stream_of(exec))));
  }
  stream_event(stream_event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  stream_event& operator=(stream_event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~stream_event() {
    if (event_ != nullptr) static_cast<void>(MTF_VENDORS(EventDestroy)(event_));
  }
  /// Returns when the work before it is done.
  void wait() const { check(MTF_VENDORS(EventSynchronize)(event_)); }
  /// The same where nothing may be thrown.
  void wait_quietly() const noexcept { static_cast<void>(MTF_VENDORS(EventSynchronize)(event_)); }
  /// Both are past.
  [[nodiscard]] double seconds_until(stream_event const& later) const {
    float milliseconds = 0;
    check(MTF_VENDORS(EventElapsedTime)(&milliseconds, event_, later.event_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  static void check(MTF_VENDORS(Error_t) e) {
    if (e != MTF_VENDORS(Success))
      throw std::runtime_error(std::string("mtf: an event of the device's stream: ") + MTF_VENDORS(GetErrorString)(e));
  }
  MTF_VENDORS(Event_t) event_ = nullptr;
};
#undef MTF_VENDORS
#endif

}  // namespace mtf::kokkos
