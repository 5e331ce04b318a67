#pragma once
// The events of a server's stream.
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace support {

/// The events of a stream, of which each must be JSON; the last is [DONE].
inline std::vector<nlohmann::json> events_of(std::string const& body) {
  std::vector<nlohmann::json> all;
  std::size_t at = 0;
  bool done = false;
  while (at < body.size()) {
    auto const end = body.find("\n\n", at);
    REQUIRE(end != std::string::npos);
    auto const line = body.substr(at, end - at);
    REQUIRE(line.starts_with("data: "));
    REQUIRE_FALSE(done);
    if (line == "data: [DONE]")
      done = true;
    else
      all.push_back(nlohmann::json::parse(line.substr(6)));
    at = end + 2;
  }
  CHECK(done);
  return all;
}

}  // namespace support
