#pragma once
// What a rank calls, to be compared with what the others call.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <mtf/backend/collective.hpp>
#include <mtf/core/element.hpp>

namespace mtf::backend {

/// A call of a collective: equal on all ranks of a group.
struct collective_call {
  std::string_view name;
  combine op = combine::sum;
  element type = element::boolean;
  std::size_t count = 0;

  bool operator==(collective_call const&) const = default;
  /// "all-reduce (sum) of 8 float"
  [[nodiscard]] std::string text() const {
    constexpr std::array<char const*, 3> ops{"sum", "max", "min"};
    constexpr std::array<char const*, 6> types{"float", "double", "bfloat16", "int32", "int64", "bool"};
    if (count == 0) return std::string(name);
    return std::string(name) + " (" + ops[static_cast<std::size_t>(op)] + ") of " + std::to_string(count) + " " +
           types[static_cast<std::size_t>(type)];
  }
};

/// What a rank calls that makes this collective.
constexpr collective_call call_of(collective const& c) {
  return {c.sends == nullptr ? name_of(c.kind) : "all-to-all with counts", c.op, c.type, c.count};
}

}  // namespace mtf::backend
