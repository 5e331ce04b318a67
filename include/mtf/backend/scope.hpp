#pragma once
// What is going on, told to the backend: plans name their collectives by it, profilers and watches their rows.
#include <array>
#include <cstddef>
#include <cstdint>

#include <mtf/core/sharding.hpp>

namespace mtf {

/// The parts of a training step.
enum class pass : std::uint8_t { forward, backward, update };

constexpr char const* name_of(pass when) {
  constexpr std::array<char const*, 3> names{"forward", "backward", "update"};
  return names[static_cast<std::size_t>(when)];
}

namespace backend {

/// As long as it lives, the backend works for the operation `name` on a tensor that lies as `tensor` says; without a
/// name, on another tensor of the operation in progress. `tensor` must outlive the backend's records: operations pass
/// constants. `parameter`: the path, innermost name first, of the parameter whose gradient it is.
template <class Backend>
class operation {
 public:
  constexpr operation(Backend& b, char const* name, sharding const& tensor,
                      std::array<char const*, 3> const& parameter = {})
      : backend_(&b) {
    b.enter(name, tensor, parameter);
  }
  constexpr operation(Backend& b, sharding const& tensor) : operation(b, nullptr, tensor) {}
  constexpr ~operation() { backend_->leave(); }
  operation(operation const&) = delete;
  operation& operator=(operation const&) = delete;

 private:
  Backend* backend_;
};

/// As long as it lives, this part of a step runs.
template <class Backend>
class during {
 public:
  constexpr during(Backend& b, pass p) : backend_(&b), before_(b.change(p)) {}
  constexpr ~during() { backend_->change(before_); }
  during(during const&) = delete;
  during& operator=(during const&) = delete;

 private:
  Backend* backend_;
  pass before_;
};

}  // namespace backend
}  // namespace mtf
