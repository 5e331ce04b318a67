#pragma once
// JSON that may come from anywhere.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <mtf/core/error.hpp>

namespace mtf::detail {

/// Why a text is not JSON, from where on, without the parser's name for that error.
inline std::string why_no_json(std::string const& what, nlohmann::json::exception const& e) {
  std::string_view words = e.what();
  if (words.starts_with("[json.")) words.remove_prefix(std::min(words.find("] ") + 2, words.size()));
  return what + " is not JSON: " + std::string(words.substr(0, 300));
}

/// Builds a value of what nlohmann's parser reads. (Its own builder looks, if it is given a function to ask about each
/// value, through an object again with each object that ends in it.)
class strict_json_builder final : public nlohmann::json_sax<nlohmann::json> {
  using json = nlohmann::json;

 public:
  explicit strict_json_builder(std::string const& what) : what_(what) {}
  [[nodiscard]] json take() { return std::move(whole_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool x) override { return add(x); }
  bool number_integer(number_integer_t x) override { return add(x); }
  bool number_unsigned(number_unsigned_t x) override { return add(x); }
  bool number_float(number_float_t x, string_t const&) override { return add(x); }
  bool string(string_t& x) override { return add(std::move(x)); }
  bool binary(binary_t&) override { return false; }  // no text has it
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    auto const [at, fresh] = open_.back()->emplace(name, nullptr);
    if (!fresh) throw user_error(what_ + " has the key " + json(name).dump(-1, ' ', true).substr(0, 200) + " twice");
    next_ = &*at;
    return true;
  }
  bool parse_error(std::size_t, std::string const&, nlohmann::json::exception const& e) override {
    throw user_error(why_no_json(what_, e));
  }

 private:
  json& put(json&& value) {
    if (open_.empty()) return whole_ = std::move(value);
    if (open_.back()->is_object()) return *next_ = std::move(value);
    open_.back()->push_back(std::move(value));
    return open_.back()->back();
  }
  bool add(json&& value) {
    put(std::move(value));
    return true;
  }
  bool open(json&& value) {
    if (open_.size() == 64) throw user_error(what_ + " is nested more than 64 levels deep");
    open_.push_back(&put(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string const& what_;
  json whole_;
  std::vector<json*> open_;  // arrays and objects, outermost first
  json* next_ = nullptr;     // the place of the key that was read last
};

/// The JSON in `text`; `what` names it in errors. Two equal keys in one object, which readers take differently, and
/// more than 64 levels are user_errors, as is anything else that is not JSON.
inline nlohmann::json strict_json(std::string_view text, std::string const& what) {
  strict_json_builder builder(what);
  try {
    nlohmann::json::sax_parse(text, &builder);
  } catch (nlohmann::json::exception const& e) {
    throw user_error(why_no_json(what, e));
  }
  return builder.take();
}

}  // namespace mtf::detail
