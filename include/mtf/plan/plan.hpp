#pragma once
// What a program sends, before anything runs: the program itself, executed by the compiler on the backend without data.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/primitives/cost.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/plan/machine.hpp>

namespace mtf {

/// The collectives of one step of a program on one rank, in order; all ranks do the same. Equal layers are a loop.
/// Bytes are those that a rank sends in bandwidth-optimal algorithms, `mtf::bytes_sent`. In arrays (`plan`, a constant)
/// or in vectors (`plan_value`).
template <class Collectives, class Loops, class Operations>
struct basic_plan {
  mesh_shape mesh;
  std::array<short_name, max_axes> axis_names{};
  Collectives collectives{};
  Loops loops{};                // an outer one after those inside it
  Operations work{};            // what a rank computes: forward, backward, the norm of the gradients
  std::uint64_t reordered = 0;  // tensors that contractions copy into another order, which no strides could express
  std::uint64_t peak_bytes =
      0;  // of tensors on a rank at one time: parameters, inputs, what is kept for backward, gradients

  /// How often the i-th collective is done in one step.
  [[nodiscard]] constexpr std::uint64_t times(std::size_t i) const {
    std::uint64_t n = 1;
    for (auto const& l : loops) n *= l.first <= i && i < l.last ? l.count : 1;
    return n;
  }
  /// The number of collectives for which `which(planned_collective)` holds.
  template <class Which>
  [[nodiscard]] constexpr std::uint64_t count(Which const& which) const {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < collectives.size(); ++i) n += which(collectives[i]) ? times(i) : 0;
    return n;
  }
  [[nodiscard]] constexpr std::uint64_t count() const {
    return count([](auto const&) { return true; });
  }
  [[nodiscard]] constexpr std::uint64_t count(collective_kind kind) const {
    return count([&](auto const& c) { return c.kind == kind; });
  }
  /// What they send.
  template <class Which>
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank(Which const& which) const {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      auto const& c = collectives[i];
      n += which(c) ? times(i) * bytes_sent(c.kind, c.payload, mesh.size(c.axes)) : 0;
    }
    return n;
  }
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank() const {
    return bytes_sent_per_rank([](auto const&) { return true; });
  }
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank(collective_kind kind) const {
    return bytes_sent_per_rank([&](auto const& c) { return c.kind == kind; });
  }
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank(pass when) const {
    return bytes_sent_per_rank([&](auto const& c) { return c.when == when; });
  }
  /// Over one axis, alone or with others.
  template <mesh_axis Axis>
  [[nodiscard]] constexpr std::uint64_t bytes_sent_over() const {
    axis_mask mask = 0;
    for (int a = 0; a < mesh.ndim; ++a)
      mask |= axis_names[static_cast<std::size_t>(a)].view() == Axis::name ? 1U << static_cast<unsigned>(a) : 0U;
    return bytes_sent_per_rank([&](auto const& c) { return (c.axes & mask) != 0; });
  }

  /// Floating-point operations of a rank's products, of the operations for which `which(planned_work)` holds.
  template <std::predicate<planned_work const&> Which>
  [[nodiscard]] constexpr double flops(Which const& which) const {
    double n = 0;
    for (auto const& w : work) n += which(w) ? w.flops : 0;
    return n;
  }
  [[nodiscard]] constexpr double flops() const {
    return flops([](auto const&) { return true; });
  }
  [[nodiscard]] constexpr double flops(std::string_view operation) const {
    return flops([&](auto const& w) { return operation == w.operation; });
  }
  /// Bytes that a rank's kernels move, each operand once.
  template <std::predicate<planned_work const&> Which>
  [[nodiscard]] constexpr double bytes_moved(Which const& which) const {
    double n = 0;
    for (auto const& w : work) n += which(w) ? w.bytes : 0;
    return n;
  }
  [[nodiscard]] constexpr double bytes_moved() const {
    return bytes_moved([](auto const&) { return true; });
  }
  [[nodiscard]] constexpr double bytes_moved(std::string_view operation) const {
    return bytes_moved([&](auto const& w) { return operation == w.operation; });
  }

  /// What a step takes on a machine, by what takes it. Collectives started in the backward pass hide behind it as
  /// far as the machine can and the pass lasts.
  [[nodiscard]] constexpr step_price price(machine_description const& on) const {
    step_price p;
    double backward = 0, started = 0;
    for (auto const& w : work) {
      double const seconds = on.seconds(w);
      (w.bound == limit::matrix ? p.products : p.kernels) += seconds;
      backward += w.when == pass::backward ? seconds : 0;
    }
    for (std::size_t i = 0; i < collectives.size(); ++i) {
      auto const& c = collectives[i];
      double const seconds = static_cast<double>(times(i)) * on.seconds(c.kind, c.payload, mesh, c.axes);
      p.collectives += seconds;
      started += c.started && c.when == pass::backward ? seconds * on.overlap : 0;
    }
    p.hidden = started < backward ? started : backward;
    return p;
  }
  /// Seconds for a step on a machine.
  [[nodiscard]] constexpr double seconds(machine_description const& on) const { return price(on).seconds(); }

  /// All collectives one after the other, loops unrolled: what `collectives::record` writes down when the program runs.
  [[nodiscard]] std::vector<collectives::event> unrolled() const {
    std::vector<mtf::collectives::event> all;
    unroll(all, 0, collectives.size(), loops.size());
    return all;
  }

 private:
  void unroll(std::vector<mtf::collectives::event>& all, std::size_t first, std::size_t last,
              std::size_t loops_left) const {
    for (std::size_t i = first; i < last;) {
      std::size_t l = loops_left;
      while (l > 0 && !(loops[l - 1].first == i && loops[l - 1].last <= last)) --l;
      if (l > 0) {
        for (std::uint64_t n = 0; n < loops[l - 1].count; ++n) unroll(all, i, loops[l - 1].last, l - 1);
        i = loops[l - 1].last;
      } else {
        all.push_back({collectives[i].kind, collectives[i].axes, collectives[i].payload});
        ++i;
      }
    }
  }
};

/// A plan that is a constant.
template <std::size_t Collectives, std::size_t Loops, std::size_t Operations = 0>
using plan = basic_plan<std::array<planned_collective, Collectives>, std::array<planned_loop, Loops>,
                        std::array<planned_work, Operations>>;

namespace detail {
/// As a member: its class moves, and is not copied.
struct not_copied {
  not_copied() = default;
  not_copied(not_copied&&) = default;
  not_copied& operator=(not_copied&&) = default;
};
}  // namespace detail

/// A plan under a layout that is a value. It owns what its collectives point to: it moves, and is not copied.
struct plan_value : basic_plan<std::vector<planned_collective>, std::vector<planned_loop>, std::vector<planned_work>> {
  std::vector<sharding> tensors;
  [[no_unique_address]] detail::not_copied moves_only{};
};

}  // namespace mtf
