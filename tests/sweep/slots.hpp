#pragma once
// What the slots of operands' gradients hold before the backward pass, and who has met what.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "places.hpp"

namespace sweep {

/// What the slot of an operand's gradient holds before the backward pass.
enum class content : std::uint8_t {
  complete,  // a gradient that is complete
  alike,     // one that is partial over the axes over which the operation's will be
  shared,    // likewise, in memory that another slot holds too
  unlike,    // one that is partial over other axes
  both,      // that, then one alike
  known,     // a partial one whose sum somebody asked for
  nothing
};
inline constexpr std::size_t contents = 6;
inline constexpr std::array<char const*, contents> name_of_content{"complete", "alike", "shared",
                                                                   "unlike",   "both",  "known"};
struct held_before {
  content what = content::nothing;
  set alike = 0, unlike = 0;
  [[nodiscard]] bool possible() const {
    switch (what) {
      case content::alike:
        return alike != 0;
      case content::unlike:
      case content::both:
        return unlike != alike;
      case content::known:
        return (alike | unlike) != 0;
      default:
        return true;
    }
  }
  /// How many gradients it is.
  [[nodiscard]] int count() const { return what == content::nothing ? 0 : what == content::both ? 2 : 1; }
};

/// Chooses the contents of operands' slots in turn: what each has met on the fewest meshes.
class rota {
 public:
  explicit rota(std::size_t operands) : met_(operands), could_(operands), times_(operands) {}
  held_before next(std::size_t operand, int mesh, held_before could) {
    std::size_t best = contents;
    auto const is_less = [&](std::size_t x, std::size_t y) {
      auto const weight = [&](std::size_t c) { return std::pair(std::popcount(met_[operand][c]), times_[operand][c]); };
      return weight(x) < weight(y);
    };
    for (std::size_t c = 0; c < contents; ++c) {
      could.what = static_cast<content>(c);
      if (!could.possible()) continue;
      could_[operand][c] |= bit(mesh);
      if (best == contents || is_less(c, best)) best = c;
    }
    met_[operand][best] |= bit(mesh);
    ++times_[operand][best];
    could.what = static_cast<content>(best);
    return could;
  }
  /// What some operand has not met on two meshes, or not on the one where it could; empty if there is none.
  [[nodiscard]] std::string missing() const {
    for (std::size_t o = 0; o < met_.size(); ++o)
      for (std::size_t c = 0; c < contents; ++c) {
        bool const always_complete = static_cast<content>(c) == content::alike && could_[o][c] == 0;
        if (could_[o][0] != 0 && !always_complete &&
            std::popcount(met_[o][c]) < std::clamp(std::popcount(could_[o][c]), 1, 2))
          return "the slot of operand " + std::to_string(o) + " held \"" + name_of_content[c] + "\" on too few meshes";
      }
    return {};
  }

 private:
  std::vector<std::array<unsigned, contents>> met_, could_;  // meshes
  std::vector<std::array<int, contents>> times_;
};

}  // namespace sweep
