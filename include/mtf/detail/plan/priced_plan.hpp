#pragma once
// What a search asks of a plan.
#include <cstddef>
#include <cstdint>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/detail/plan/layout_bounds.hpp>
#include <mtf/plan/machine.hpp>

namespace mtf::detail {

/// Of one plan.
struct priced_plan {
  bool known = true;     // false: the search stops here, to be made again when it is
  bool refused = false;  // by a rule
  std::size_t why = 0;   // which of the sentences that were met
  double seconds = 0;
  std::uint64_t bytes_sent = 0, memory = 0;
  layout_bounds::collectives_sent others{};  // all collectives but gradients', if the mesh has one axis
};

template <class Plan>
constexpr priced_plan priced(Plan const& plan, machine_description const& machine) {
  priced_plan p;
  p.seconds = plan.seconds(machine);
  p.bytes_sent = plan.bytes_sent_per_rank();
  p.memory = plan.peak_bytes;
  if (plan.mesh.ndim != 1) return p;
  for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
    auto const& s = plan.collectives[i];
    if (same_text(s.operation, "gradient") || same_text(s.operation, "small gradients") ||
        same_text(s.operation, "parameter"))
      continue;
    auto const times = plan.times(i);
    p.others.bytes_sent += static_cast<double>(times * bytes_sent(s.kind, s.payload, plan.mesh.extent[0]));
    if (s.started && s.when == pass::backward) continue;  // its time may be hidden
    p.others.count[static_cast<std::size_t>(s.kind)] += static_cast<double>(times);
    p.others.payload[static_cast<std::size_t>(s.kind)] += static_cast<double>(times * s.payload);
  }
  return p;
}

}  // namespace mtf::detail
