#pragma once
// The values of a model's config file.
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <mtf/checkpoint/config_values.hpp>  // NOLINT(misc-header-include-cycle)
#include <mtf/core/error.hpp>
#include <mtf/core/limits.hpp>

namespace mtf {

namespace detail {

/// A number that is all of a text.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number x{};
  auto const* const end = text.data() + text.size();
  auto const [last, error] = std::from_chars(text.data(), end, x);
  return error == std::errc{} && last == end ? std::optional(x) : std::nullopt;
}
inline std::optional<std::int64_t> extent_in(std::string_view text) {
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  auto const n = number_in<std::int64_t>(text);
  return n && *n >= 0 && *n <= max_extent ? n : std::nullopt;
}

/// What `read` makes of the value of a key; none if there is no such key.
template <class Read>
auto value_in(std::string const& path, std::map<std::string, std::string> const& values, std::string const& key,
              std::string const& expected, Read const& read) -> decltype(read(key)) {
  auto const found = values.find(key);
  if (found == values.end()) return {};
  if (auto const x = read(found->second)) return x;
  throw user_error(path + ": " + key + ": expected " + expected + ", found " + found->second);
}

}  // namespace detail

std::optional<std::int64_t> config_values::number(std::string const& key) const {
  return detail::value_in(path_, values_, key, "a whole number from 0 to " + std::to_string(max_extent),
                          [](std::string const& text) { return detail::extent_in(text); });
}
std::optional<double> config_values::real(std::string const& key) const {
  return detail::value_in(path_, values_, key, "a number",
                          [](std::string const& text) { return detail::number_in<double>(text); });
}
std::optional<std::string> config_values::text(std::string const& key) const {
  return detail::value_in(path_, values_, key, "a text", [](std::string const& text) {
    bool const is = text.size() >= 2 && text.front() == '"';
    return is ? std::optional(text.substr(1, text.size() - 2)) : std::nullopt;
  });
}
std::map<std::string, std::int64_t> config_values::numbers() const {
  std::map<std::string, std::int64_t> all;
  for (auto const& [key, text] : values_)
    if (auto const n = detail::extent_in(text)) all.emplace(key, *n);
  return all;
}

}  // namespace mtf
