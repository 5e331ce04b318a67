#pragma once
// What a program is made of, whatever its layout: its dimensions, the work and the parameters' gradients, each with the
// dimensions that can divide it. Recorded once, on one rank; bounds of prices are computed from it.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <mtf/backend/growing_array.hpp>
#include <mtf/backend/layout_table.hpp>
#include <mtf/backend/primitives/contraction.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/plan/machine.hpp>

namespace mtf::detail {

/// A set of a program's dimensions: bit i is the i-th.
using dim_mask = std::uint32_t;

struct program_outline {
  /// A program may have several layouts, any_layout<0>, any_layout<1> and so on; of what is not known to be under one
  /// of them, this stands for the layout.
  static constexpr int any = -1;

  struct dimension_of {
    std::uint64_t id = 0;
    std::int64_t extent = 1;
    char const* name = "";
    bool is_alias = false;
    // By layout: whether it has tensors with this dimension, and the dimensions that these tensors have besides, and
    // those that operations take with them.
    std::array<bool, max_layouts> there{};
    std::array<dim_mask, max_layouts> beside{};
  };
  /// Seconds that work takes at the least, by the dimensions that its operands and its result have.
  struct work {
    int layout = any;
    dim_mask dims = 0;
    bool backward = false;
    double seconds = 0;
  };
  /// Gradients of `count` parameters of so many bytes each, with the dimensions `own`, to which operations add whose
  /// results have the dimensions `result`.
  struct gradient {
    int layout = any;
    dim_mask own = 0, result = 0;
    double bytes = 0, count = 0;
  };

  std::size_t layouts = 1;  // how many the program has
  backend::growing_array<dimension_of> dims;
  backend::growing_array<work> works;
  backend::growing_array<gradient> gradients;
};

/// Writes the outline of the program that a trace runs.
class outline_recorder final : public trace_listener {
 public:
  /// `at_best`: the machine as at_best makes it. `given`: the trace's.
  constexpr outline_recorder(program_outline& to, machine_description const& at_best,
                             backend::layout_table const& given)
      : to_(&to), at_best_(&at_best), layouts_(&given) {
    to.layouts = given.size();
  }

  constexpr void step_begins() override { to_->works.keep_first(0); }
  constexpr void works_under(std::span<sharding const> operands, sharding const& result,
                             layout_value const& layout) override {
    if (!operands.empty()) under_.push_back(under{operands.data(), &layout});
    for (auto const& s : operands) mask_of(s);  // dimensions are in the order in which the program meets them
    if (int const l = index_of(layout); l != program_outline::any) are_together(mask_of(result), l);
  }
  constexpr void happened(planned_event const& what, std::uint64_t times, operation_tensors const& of) override {
    if (what.what != planned_event::kind::work) return;
    auto once = what.work;
    if (once.bound == limit::matrix) once.grade.size = largest_extent(once, of);
    int const layout = layout_of(of);
    dim_mask const all = mask_of(of, layout, same_text(once.operation, "attention"));
    auto const seconds = static_cast<double>(times) * at_best_->seconds(once);
    bool const backward = once.when == pass::backward;
    for (auto& w : to_->works)
      if (w.dims == all && w.layout == layout && w.backward == backward) {
        w.seconds += seconds;
        return;
      }
    to_->works.push_back(program_outline::work{layout, all, backward, seconds});
  }
  constexpr void differentiated(int i, sharding const& parameter, std::size_t element, std::uint64_t times,
                                operation_tensors const& by) override {
    int const layout = layout_of(by);
    for (int const seen : differentiated_)
      if (seen == i) return;  // one of its contributions is enough for a bound
    if (layout == program_outline::any) return;
    differentiated_.push_back(i);
    auto const bytes = static_cast<double>(element) * static_cast<double>(parameter.global_size());
    auto const count = static_cast<double>(times);
    dim_mask const own = mask_of(parameter), result = mask_of(*by.result);
    for (auto& g : to_->gradients)
      if (g.layout == layout && g.own == own && g.result == result && g.bytes == bytes) {
        g.count += count;
        return;
      }
    to_->gradients.push_back(program_outline::gradient{layout, own, result, bytes, count});
  }

 private:
  /// What the smallest extent of a product is at most, under any layout. Splits make extents smaller; but where they
  /// leave one element of a dimension, those beside it become one extent of a matrix product. It then has, forward and
  /// backward, those dimensions that the one operand has, that the other has, or that both have and the result has not.
  [[nodiscard]] static constexpr std::int64_t largest_extent(planned_work const& w, operation_tensors const& of) {
    if (of.operands.size() < 2 || of.result == nullptr || !same_text(w.primitive, primitives::contract<float>::name))
      return w.grade.size;
    auto const &a = of.operands[0], &b = of.operands[1];
    std::int64_t m = 1, n = 1, k = 1;
    for (int d = 0; d < a.ndim; ++d) {
      bool const in_b = b.find(a[d].id) >= 0;
      if (!in_b) m *= a[d].extent;
      if (in_b && of.result->find(a[d].id) < 0) k *= a[d].extent;
    }
    for (int d = 0; d < b.ndim; ++d)
      if (a.find(b[d].id) < 0) n *= b[d].extent;
    return std::max(w.grade.size, std::min({m, n, k}));
  }
  [[nodiscard]] constexpr int layout_of(operation_tensors const& of) const {
    auto const* const operands = of.operands.data();
    for (auto const& u : under_)
      if (u.operands == operands)
        if (int const i = index_of(*u.layout); i != program_outline::any) return i;
    return program_outline::any;
  }
  [[nodiscard]] constexpr int index_of(layout_value const& layout) const {
    for (std::size_t i = 0; i < layouts_->size(); ++i)
      if (&(*layouts_)[i] == &layout) return static_cast<int>(i);
    return program_outline::any;
  }
  constexpr dim_mask mask_of(sharding const& s) {
    dim_mask m = 0;
    for (int d = 0; d < s.ndim; ++d) m |= dim_mask{1} << index_of(s[d]);
    return m;
  }
  constexpr std::size_t index_of(dim_state const& d) {
    auto& dims = to_->dims;
    std::size_t i = 0;
    for (auto const& known : dims) {
      if (known.id == d.id) return i;
      ++i;
    }
    if (dims.size() == 32) throw user_error("layouts are searched for programs of up to 32 dimensions; this has more");
    dims.push_back(program_outline::dimension_of{d.id, d.extent, d.name, d.kin != 0});
    return dims.size() - 1;
  }
  // All dimensions where an operation's tensors are not known: then its work may be divided by any. `apart`: its
  // operands need not meet at one rank, as attention's keys go round, so one axis may split two of them differently.
  constexpr dim_mask mask_of(operation_tensors const& of, int layout, bool apart) {
    dim_mask in = 0;
    for (auto const& s : of.operands) in |= mask_of(s);
    dim_mask const out = of.result != nullptr ? mask_of(*of.result) : 0;
    if (of.operands.empty() || layout == program_outline::any) return ~dim_mask{0};
    if (apart)
      for (auto const& s : of.operands) are_together(mask_of(s), layout);
    else
      are_together(in, layout);
    are_together(out, layout);
    return in | out;
  }
  constexpr void are_together(dim_mask m, int layout) {
    auto const l = static_cast<std::size_t>(layout);
    auto& dims = to_->dims;
    dim_mask bit = 1;
    for (auto& d : dims) {
      if ((m & bit) != 0) {
        d.there[l] = true;
        d.beside[l] |= m & ~bit;
      }
      bit <<= 1U;
    }
  }

  struct under {
    sharding const* operands;
    layout_value const* layout;
  };
  backend::growing_array<under> under_;
  backend::growing_array<int> differentiated_;  // parameters
  program_outline* to_;
  machine_description const* at_best_;
  backend::layout_table const* layouts_;
};

/// A machine that is as fast at every size as this one at its best; in products, as at its best up to that size.
constexpr machine_description at_best(machine_description m) {
  auto const rising = [](speed_table& t) {
    double best = 0;
    for (int i = 0; i < t.count; ++i) {
      auto& s = t.at[static_cast<std::size_t>(i)];
      best = std::max(best, s.per_second);
      s.per_second = best;
    }
    return best;
  };
  auto const flat = [&](speed_table& t) {
    if (t.count > 0) t = speed_table(rising(t));
  };
  for (auto& p : m.primitives)
    if (p.bound == limit::matrix)
      rising(p.speeds);
    else
      flat(p.speeds);
  for (auto* links : {&m.in_node, &m.between_nodes})
    for (auto& l : *links) flat(l.speeds);
  return m;
}

}  // namespace mtf::detail
