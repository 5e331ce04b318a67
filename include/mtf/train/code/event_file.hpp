#pragma once
// Writing event files.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include <unistd.h>

#include <mtf/detail/train/event_bytes.hpp>
#include <mtf/train/event_file.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/train/step_record.hpp>

namespace mtf {

namespace detail {
inline double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}
}  // namespace detail

void event_file::open(std::string const& directory, std::int64_t after) {
  std::error_code ignored;  // opening the file then fails too, and says why
  std::filesystem::create_directories(directory, ignored);
  double const now = detail::seconds_since_1970();
  char host[256] = "host";
  ::gethostname(host, sizeof host - 1);
  to_.open("the event file",
           directory + "/events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now)) + "." + host + "." +
               std::to_string(::getpid()),
           "w");
  open_ = true;
  to_.write(detail::event_version(now) + detail::event_start(now, after > 0 ? after + 1 : 0));
}

void event_file::add(std::int64_t step, named_numbers const& numbers) {
  if (open_) to_.write(detail::event_scalars(detail::seconds_since_1970(), step, numbers));
}

}  // namespace mtf
