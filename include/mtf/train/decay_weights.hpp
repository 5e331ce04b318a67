#pragma once
// Which parameters an optimizer's decay holds for.
#include <string_view>

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

}  // namespace mtf
