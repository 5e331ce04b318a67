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

/// The path of a parameter in its structure, innermost name first, without indices.
using parameter_path = std::array<char const*, 3>;

/// By their letters: literals may overlap, and Clang 21 refuses to compare their addresses. (Of a constant expression
/// the built-in is one step, std::string_view several for each letter.)
constexpr bool same_text(char const* a, char const* b) {
  if (a == nullptr || b == nullptr) return a == nullptr && b == nullptr;
  return __builtin_strcmp(a, b) == 0;
}
/// The same names, or none.
constexpr bool same_path(parameter_path const& a, parameter_path const& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_text(a[i], b[i])) return false;
  return true;
}

/// What plans call an operation: its name, and the parameters that it works on, up to two.
struct operation_label {
  char const* name = nullptr;
  parameter_path parameter{}, other{};

  constexpr operation_label() = default;
  constexpr operation_label(char const* n) : name(n) {}  // NOLINT: implicit, most have no parameters
  constexpr operation_label(char const* n, parameter_path const& p, parameter_path const& o = {})
      : name(n), parameter(p), other(o) {}
};

namespace backend {

/// As long as it lives, the backend works for the operation `what` on a tensor with the sharding `tensor`; without a
/// name, on another tensor of the operation in progress. `tensor` must outlive the backend's records: operations pass
/// constants.
template <class Backend>
class operation {
 public:
  constexpr operation(Backend& b, operation_label const& what, sharding const& tensor) : backend_(&b) {
    b.enter(what, tensor);
  }
  constexpr operation(Backend& b, sharding const& tensor) : operation(b, operation_label{}, tensor) {}
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
