#pragma once
// Groups of parameters by name: which decay, at what rate they learn, which do not. Not part of <mtf/mtf.hpp>.
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/detail/core/name_pattern.hpp>
#include <mtf/train/decay_weights.hpp>

namespace mtf {

/// What holds for the parameters of a group. `names`: a path, in which * stands for any characters: "blocks.*.wq",
/// "*.gamma*".
struct parameter_group {
  /// Whether its parameters decay.
  enum class decay : unsigned char { as_weights, yes, no };
  std::string names;
  double rate = 1;                   // the learning rate is multiplied by it
  decay decays = decay::as_weights;  // as decay_weights says, or as said here
  bool frozen = false;               // neither the parameter nor its state is updated
};

/// Groups by name, to be given to an optimizer as its `Decay`: for each
/// parameter the first group holds that has its name; of those in none, as decay_weights says. A frozen parameter's
/// gradient counts in the norm, and what was planned is sent for it.
class parameter_groups {
 public:
  parameter_groups() = default;
  parameter_groups(std::initializer_list<parameter_group> groups) : groups_(groups) {}

  /// Whether the parameter of this name, a tensor of type X, decays.
  template <class X>
  [[nodiscard]] bool decays(std::string_view name, X const& x) const {
    auto const* const g = find(name);
    if (g == nullptr || g->decays == parameter_group::decay::as_weights) return decay_weights::decays(name, x);
    return g->decays == parameter_group::decay::yes;
  }
  /// By what the learning rate of this parameter is multiplied.
  [[nodiscard]] double rate(std::string_view name) const {
    auto const* const g = find(name);
    return g == nullptr ? 1 : g->rate;
  }
  /// Whether this parameter stays as it is.
  [[nodiscard]] bool frozen(std::string_view name) const {
    auto const* const g = find(name);
    return g != nullptr && g->frozen;
  }

 private:
  [[nodiscard]] parameter_group const* find(std::string_view name) const {
    for (auto const& g : groups_)
      if (detail::name_matches(g.names, name)) return &g;
    return nullptr;
  }

  std::vector<parameter_group> groups_;
};

}  // namespace mtf
