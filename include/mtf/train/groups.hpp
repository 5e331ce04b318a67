#pragma once
// Groups of parameters by name: which decay, at what rate they learn, which do not.
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace mtf {

/// Which parameters decay: weights, neither biases nor the scales of norms. Dimensions alone do not tell, as biases may
/// have several: a parameter of two or more decays unless its last name, as in "blocks.3.bq", is `b`, `bias`, `beta`,
/// `gamma` or `scale`, by itself, with one more letter, or with a digit or _ and anything: b1, bq, b_out, gamma_f. For
/// another rule give the optimizer a class with such a function.
struct decay_weights {
  /// Whether the parameter of this name, a tensor of type X, decays.
  template <class X>
  static constexpr bool decays(std::string_view name, X const&) {
    return X::shape_type::ndim >= 2 && !is_bias_or_scale(name.substr(name.rfind('.') + 1));
  }

 private:
  static constexpr bool is_bias_or_scale(std::string_view last) {
    for (std::string_view const word : {"b", "bias", "beta", "gamma", "scale"}) {
      if (!last.starts_with(word)) continue;
      auto const rest = last.substr(word.size());
      if (rest.size() <= 1 || rest[0] == '_' || (rest[0] >= '0' && rest[0] <= '9')) return true;
    }
    return false;
  }
};

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
  static constexpr bool matches(std::string_view pattern, std::string_view name) {
    if (pattern.empty()) return name.empty();
    if (pattern[0] != '*') return !name.empty() && pattern[0] == name[0] && matches(pattern.substr(1), name.substr(1));
    for (std::size_t skipped = 0; skipped <= name.size(); ++skipped)
      if (matches(pattern.substr(1), name.substr(skipped))) return true;
    return false;
  }
  [[nodiscard]] parameter_group const* find(std::string_view name) const {
    for (auto const& g : groups_)
      if (matches(g.names, name)) return &g;
    return nullptr;
  }

  std::vector<parameter_group> groups_;
};

}  // namespace mtf
