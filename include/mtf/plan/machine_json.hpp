#pragma once
// Descriptions of machines in files. Needs nlohmann-json, so <mtf/mtf.hpp> does not include it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/file_text.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/detail/checkpoint/strict_json.hpp>
#include <mtf/plan/machine.hpp>

namespace mtf {

namespace detail {

inline nlohmann::json json_of(speed_table const& t) {
  auto all = nlohmann::json::array();
  for (int i = 0; i < t.count; ++i)
    all.push_back({t.at[static_cast<std::size_t>(i)].size, t.at[static_cast<std::size_t>(i)].per_second});
  return all;
}
inline nlohmann::json json_of(std::array<link_speed, machine_description::kinds> const& links) {
  auto all = nlohmann::json::object();
  for (auto const kind : machine_description::link_kinds) {
    auto const& l = links[static_cast<std::size_t>(kind)];
    if (l.speeds.count > 0) all[name_of(kind)] = {{"latency", l.latency}, {"bytes_per_second", json_of(l.speeds)}};
  }
  return all;
}

/// A value in a file of JSON, and where it stands, for people: "in_node.all_reduce.latency".
class json_entry {
 public:
  json_entry(nlohmann::json const& value, std::string where) : value_(&value), where_(std::move(where)) {}

  [[noreturn]] void wrong(std::string const& expected) const {
    throw user_error((where_.empty() ? "" : where_ + ": ") + "expected " + expected + ", found " +
                     value_->dump().substr(0, 40));
  }
  [[nodiscard]] bool has(char const* key) const { return value_->is_object() && value_->contains(key); }
  [[nodiscard]] json_entry at(char const* key) const {
    if (!has(key)) wrong("an object with \"" + std::string(key) + "\"");
    return {value_->at(key), (where_.empty() ? "" : where_ + ".") + key};
  }
  /// Calls f(entry) for each of an array.
  template <class F>
  void each(F const& f) const {
    if (!value_->is_array()) wrong("an array");
    for (std::size_t i = 0; i < value_->size(); ++i)
      f(json_entry((*value_)[i], where_ + "[" + std::to_string(i) + "]"));
  }
  /// No key beside these, of which one may be misspelled.
  void allow(std::initializer_list<std::string_view> keys) const {
    if (!value_->is_object()) wrong("an object");
    for (auto const& [key, unused] : value_->items()) {
      bool known = false;
      for (auto const& k : keys) known = known || k == key;
      if (!known) throw user_error((where_.empty() ? "" : where_ + ": ") + "\"" + key + "\" is not a key of this");
    }
  }
  [[nodiscard]] std::string text() const {
    if (!value_->is_string()) wrong("a text");
    return value_->get<std::string>();
  }
  [[nodiscard]] double number(double low, double high) const {
    if (!value_->is_number() || !(low <= value_->get<double>() && value_->get<double>() <= high)) {
      std::array<char, 80> range{};
      std::snprintf(range.data(), range.size(), "a number from %.9g to %.9g", low, high);
      wrong(range.data());
    }
    return value_->get<double>();
  }
  [[nodiscard]] std::uint64_t whole(std::uint64_t low) const {
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() < low)
      wrong("a whole number from " + std::to_string(low) + " on");
    return value_->get<std::uint64_t>();
  }
  /// [[size, speed], ...]
  [[nodiscard]] speed_table speeds() const {
    speed_table t;
    each([&](json_entry const& pair) {
      if (!pair.value_->is_array() || pair.value_->size() != 2) pair.wrong("a size and a speed");
      std::array<double, 2> numbers{};
      std::size_t n = 0;
      pair.each([&](json_entry const& x) { numbers[n++] = x.number(0, 1e300); });
      try {
        t.add({numbers[0], numbers[1]});
      } catch (user_error const& e) {
        throw user_error(pair.where_ + ": " + e.what());
      }
    });
    if (t.count == 0) wrong("at least one size with its speed");
    return t;
  }

 private:
  nlohmann::json const* value_;
  std::string where_;
};

inline std::array<link_speed, machine_description::kinds> links_from(json_entry const& j) {
  std::array<link_speed, machine_description::kinds> links{};
  j.allow({name_of(machine_description::link_kinds[0]), name_of(machine_description::link_kinds[1]),
           name_of(machine_description::link_kinds[2]), name_of(machine_description::link_kinds[3]),
           name_of(machine_description::link_kinds[4])});
  for (auto const kind : machine_description::link_kinds)
    if (j.has(name_of(kind))) {
      auto const one = j.at(name_of(kind));
      one.allow({"latency", "bytes_per_second"});
      links[static_cast<std::size_t>(kind)] = {one.at("latency").number(0, 1e300), one.at("bytes_per_second").speeds()};
    }
  return links;
}

}  // namespace detail

/// A machine's description as JSON: sizes and speeds in pairs, seconds, bytes.
inline nlohmann::json json_of(machine_description const& m) {
  nlohmann::json all{{"name", m.name.view()},
                     {"ranks_per_node", m.ranks_per_node},
                     {"overlap", m.overlap},
                     {"in_node", detail::json_of(m.in_node)},
                     {"between_nodes", detail::json_of(m.between_nodes)},
                     {"primitives", nlohmann::json::array()}};
  if (m.memory != ~std::uint64_t{0}) all["memory"] = m.memory;
  for (int i = 0; i < m.primitive_count; ++i) {
    auto const& p = m.primitives[static_cast<std::size_t>(i)];
    nlohmann::json one{{"primitive", p.primitive.view()},
                       {p.bound == limit::matrix ? "flops_per_second" : "bytes_per_second", detail::json_of(p.speeds)}};
    if (p.element != 0) one["element"] = p.element;
    all["primitives"].push_back(one);
  }
  return all;
}

/// The machine that a JSON of `json_of` describes. Another one is a user_error that names the key, what it should be
/// and what was found; so is a key that means nothing here.
inline machine_description machine_from(nlohmann::json const& json) {
  detail::json_entry const j(json, "");
  j.allow({"name", "ranks_per_node", "overlap", "memory", "in_node", "between_nodes", "primitives"});
  machine_description m;
  m.name = short_name(j.at("name").text());
  m.ranks_per_node = static_cast<int>(j.at("ranks_per_node").number(1, 1 << 20));
  if (j.has("overlap")) m.overlap = j.at("overlap").number(0, 1);
  if (j.has("memory")) m.memory = j.at("memory").whole(1);
  m.in_node = detail::links_from(j.at("in_node"));
  m.between_nodes = detail::links_from(j.at("between_nodes"));
  j.at("primitives").each([&](detail::json_entry const& one) {
    one.allow({"primitive", "element", "flops_per_second", "bytes_per_second"});
    bool const matrix = one.has("flops_per_second");
    m.add({short_name(one.at("primitive").text()), matrix ? limit::matrix : limit::memory,
           one.has("element") ? static_cast<std::size_t>(one.at("element").whole(0)) : 0,
           one.at(matrix ? "flops_per_second" : "bytes_per_second").speeds()});
  });
  return m;
}
/// The same from a file, such as benchmarks/machine writes. One that cannot be read is a user_error.
inline machine_description read_machine(std::string const& path) {
  auto const name = "the machine's description " + path;
  auto const json = detail::strict_json(text_of_file(path, std::uint64_t{1} << 28U, name), name);
  try {
    return machine_from(json);
  } catch (user_error const& e) {
    throw user_error(name + ": " + e.what());
  }
}

}  // namespace mtf
