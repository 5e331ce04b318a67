// JSON from anywhere: the same values as by nlohmann's own reader, no key twice, in time that grows as the text does.
// devices: none
#include <algorithm>
#include <cstddef>
#include <ctime>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mtf/checkpoint/safetensors.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>

#include "support/error_of.hpp"

namespace {

std::string why_not(std::string const& text) {
  return error_of([&] { return mtf::detail::strict_json(text, "it"); });
}

TEST_CASE("values are those that nlohmann's own reader finds") {
  for (std::string const text :
       {"null", "true", "-7", "18446744073709551615", "1.5e300", R"("a\u0000\ud83d\ude00")", "[]", "{}",
        "[[], {}, [1]]", R"({"a": {"b": [1, {"c": null}, "d"], "e": {}}, "": 2, "A": [false]})",
        R"([{"a": 1}, {"a": 1}])"})
    CHECK(mtf::detail::strict_json(text, "it") == nlohmann::json::parse(text));
}

TEST_CASE("keys twice, deep nesting and what is no JSON are refused") {
  CHECK(why_not(R"({"a": 1, "b": {"c": 2}, "a": 3})") == "it has the key \"a\" twice");
  CHECK(why_not(R"([{"b": {"\u001b": 2, "\u001b": {}}}])") == "it has the key \"\\u001b\" twice");
  CHECK(why_not(std::string(64, '[') + std::string(64, ']')).empty());
  CHECK(why_not(std::string(65, '[') + std::string(65, ']')) == "it is nested more than 64 levels deep");
  CHECK(why_not(std::string(100'000, '[')) == "it is nested more than 64 levels deep");
  for (std::string const text :
       {"", "[1,]", "{\"a\"}", "1e999", "\"\xff\"", "[1] 2", "nul", "{\"a\":1", "[\"\x01\"]"}) {
    CAPTURE(text);
    CHECK(why_not(text).find("it is not JSON: ") == 0);
    CHECK(why_not(text).find("json.exception") == std::string::npos);
  }
}

/// The least processor time of three runs.
template <class F>
double seconds(F const& f) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    auto const begin = std::clock();
    f();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

TEST_CASE("a header of eight times as many tensors takes about eight times as long, written and read") {
  auto const many = [](std::size_t n) {
    mtf::safetensors_header h;
    for (std::size_t i = 0; i < n; ++i) h.arrays.push_back({"experts." + std::to_string(i) + ".w", "F32", {2, 3}});
    return h;
  };
  auto const written = [&](std::size_t n) {
    auto h = many(n);
    return mtf::lay_out(h);
  };
  auto const few_text = written(2'500), text = written(20'000);
  double const write_few = seconds([&] { written(2'500); }), write = seconds([&] { written(20'000); });
  auto const read = [](std::string const& of, std::size_t n) {
    return seconds([&] { CHECK(mtf::safetensors_from(of, of.size() + 24 * n, "many").arrays.size() == n); });
  };
  double const read_few = read(few_text, 2'500), read_many = read(text, 20'000);
  MESSAGE("20000 tensors: written in " << write << " s, read in " << read_many << " s");
  CHECK(write / write_few < 24);  // quadratic: 64
  CHECK(read_many / read_few < 24);
}

}  // namespace
