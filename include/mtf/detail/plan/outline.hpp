#pragma once
// What a program is made of, whatever its layout: its dimensions, the work and the parameters' gradients, each with the
// dimensions that can divide it. Recorded once, on one rank; bounds of prices are computed from it.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/plan/machine.hpp>

namespace mtf::detail {

/// A set of a program's dimensions: bit i is the i-th.
using dim_mask = std::uint32_t;

class program_outline final : public trace_listener {
 public:
  struct dimension_of {
    std::uint64_t id = 0;
    std::int64_t extent = 1;
    char const* name = "";
    dim_mask beside = 0;  // the dimensions of tensors that have this one, and of tensors that operations take with them
  };
  /// Seconds that work takes at the least, by the dimensions that its operands have.
  struct work {
    dim_mask dims = 0;
    bool backward = false;
    double seconds = 0;
  };
  /// Bytes of a parameter's gradient to which an operation adds whose result has the dimensions `result`.
  struct gradient {
    int parameter = 0;
    dim_mask own = 0, result = 0;
    double bytes = 0;
  };

  /// `at_best`: what works faster than the machine, at every size.
  constexpr explicit program_outline(machine_description const& at_best) : at_best_(&at_best) {}

  std::vector<dimension_of> dims;
  std::vector<work> works;
  std::vector<gradient> gradients;

  constexpr void ran(planned_work const& once, std::uint64_t times,
                     std::array<std::span<sharding const>, 2> const& operands) override {
    dim_mask const all = mask_of(operands);
    auto const seconds = static_cast<double>(times) * at_best_->seconds(once);
    bool const backward = once.when == pass::backward;
    for (auto& w : works)
      if (w.dims == all && w.backward == backward) {
        w.seconds += seconds;
        return;
      }
    works.push_back({all, backward, seconds});
  }
  constexpr void differentiated(int i, sharding const& parameter, std::size_t element, std::uint64_t times,
                                std::array<std::span<sharding const>, 2> const& operands) override {
    dim_mask result = 0;
    for (auto const& out : operands[1]) result |= mask_of(out);
    gradient const g{
        i, mask_of(parameter), result,
        static_cast<double>(times) * static_cast<double>(element) * static_cast<double>(parameter.global_size())};
    for (auto& other : gradients)
      if (other.parameter == i) return;  // one of its contributions is enough for a bound
    gradients.push_back(g);
  }

 private:
  constexpr dim_mask bit_of(dim_state const& d) {
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (dims[i].id == d.id) return dim_mask{1} << i;
    if (dims.size() == 32) throw user_error("layouts are searched for programs of up to 32 dimensions; this has more");
    dims.push_back({d.id, d.extent, d.name});
    return dim_mask{1} << (dims.size() - 1);
  }
  constexpr dim_mask mask_of(sharding const& s) {
    dim_mask m = 0;
    for (int d = 0; d < s.ndim; ++d) m |= bit_of(s[d]);
    return m;
  }
  constexpr void are_together(dim_mask m) {
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (((m >> i) & 1U) != 0) dims[i].beside |= m & ~(dim_mask{1} << i);
  }
  // All dimensions where the operands are not known: then the work may be divided by any.
  constexpr dim_mask mask_of(std::array<std::span<sharding const>, 2> const& operands) {
    if (operands[0].empty()) return ~dim_mask{0};
    dim_mask in = 0, out = 0;
    for (auto const& s : operands[0]) in |= mask_of(s);
    for (auto const& s : operands[1]) out |= mask_of(s);
    are_together(in);
    are_together(out);
    return in | out;
  }

  machine_description const* at_best_;
};

/// A machine that is as fast at every size as this one at its best.
constexpr machine_description at_best(machine_description m) {
  auto const flat = [](speed_table& t) {
    double best = 0;
    for (int i = 0; i < t.count; ++i) {
      double const s = t.at[static_cast<std::size_t>(i)].per_second;
      best = s > best ? s : best;
    }
    if (t.count > 0) t = speed_table(best);
  };
  for (auto& p : m.primitives) flat(p.speeds);
  for (auto* links : {&m.in_node, &m.between_nodes})
    for (auto& l : *links) {
      l.latency = 0;
      flat(l.speeds);
    }
  return m;
}

}  // namespace mtf::detail
