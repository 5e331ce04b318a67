#pragma once
// What the options of the tools have in common.
#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <CLI/TypeTools.hpp>
#include <CLI/Validators.hpp>

#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>

#include <mtf/core/error.hpp>

namespace mtf::tools {

/// An option that is a decimal number, all of it, from `low` to `high`.
template <class Number>
void add_number(CLI::App& app, char const* flag, Number& to, Number low, Number high, char const* description) {
  auto const read = [&to, low, high, flag](std::string const& text) {
    auto const* const end = text.data() + text.size();
    Number x{};
    auto const [last, error] = std::from_chars(text.data(), end, x);
    if (error != std::errc{} || last != end || !(low <= x && x <= high))  // NaN is neither
      throw CLI::ValidationError(
          flag, std::string("expected ") + (std::is_integral_v<Number> ? "a whole number" : "a number") + " from " +
                    CLI::detail::to_string(low) + " to " + CLI::detail::to_string(high) + ", found \"" + text + "\"");
    to = x;
  };
  app.add_option_function<std::string>(flag, read, description)
      ->default_str(CLI::detail::to_string(to))
      ->type_name(std::is_integral_v<Number> ? "INT" : "FLOAT");
}

/// Parses the line, then calls f(). What is wrong with it, and what --help says, is told by the program, once MPI runs.
template <class F>
void parse_line(CLI::App& app, int argc, char** argv, std::optional<std::string>& wrong,
                std::optional<std::string>& help, F const& f) {
  try {
    app.parse(argc, argv);
    f();
  } catch (CLI::CallForHelp const&) {
    help = app.help();
  } catch (CLI::ParseError const& e) {
    wrong = std::string(e.what()) + " (see --help)";
  } catch (mtf::user_error const& e) {
    wrong = e.what();
  }
}

/// What is given as a path is one.
inline CLI::Validator const is_path(
    [](std::string& path) {
      return path.empty() || path.starts_with("--") ? "a path was expected, found \"" + path + "\"" : "";
    },
    "", "path");

}  // namespace mtf::tools
