#pragma once
// What a plan may cost.
#include <cstdint>
#include <limits>
#include <type_traits>

#include <mtf/core/verdict.hpp>

namespace mtf {

/// A plan is over its budget in this quantity.
template <auto Quantity, std::uint64_t Planned, std::uint64_t Allowed>
struct error_over_budget : detail::failed {};

namespace detail {

template <auto Q, std::uint64_t P, std::uint64_t A, class... By>
struct require<error_over_budget<Q, P, A>, By...> {
  static_assert(P <= A, "mtf: a plan is over its budget; error_over_budget<quantity, planned, allowed>");
};

}  // namespace detail

inline namespace literals {
/// Bytes: `64_KiB`.
consteval std::uint64_t operator""_KiB(unsigned long long n) { return n << 10U; }
consteval std::uint64_t operator""_MiB(unsigned long long n) { return n << 20U; }
consteval std::uint64_t operator""_GiB(unsigned long long n) { return n << 30U; }
}  // namespace literals

/// What a plan may cost one rank in one step.
struct budget {
  static constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes_sent = any;
  std::uint64_t collectives = any;
  std::uint64_t memory = any;  // bytes of tensors at one time
};
/// The quantities of a budget.
enum class budgeted : std::uint8_t { bytes_sent, collectives, memory };

/// `static_assert(mtf::within_budget<plan, mtf::budget{.bytes_sent = 64_KiB}>())`: refused if the plan, a constant with
/// static storage, is over it. The error tells both numbers.
template <auto const& Plan, budget Limit>
consteval bool within_budget() {
  constexpr auto bytes = Plan.bytes_sent_per_rank(), count = Plan.count(), memory = Plan.peak_bytes;
  using verdict = detail::first_failed_t<
      std::conditional_t<bytes <= Limit.bytes_sent, ok,
                         error_over_budget<budgeted::bytes_sent, bytes, Limit.bytes_sent>>,
      std::conditional_t<count <= Limit.collectives, ok,
                         error_over_budget<budgeted::collectives, count, Limit.collectives>>,
      std::conditional_t<memory <= Limit.memory, ok, error_over_budget<budgeted::memory, memory, Limit.memory>>>;
  using checked [[maybe_unused]] = checked_t<verdict>;
  return true;
}

}  // namespace mtf
