#pragma once
// The numbers of each optimizer, by the options of `train` that set them.
#include <type_traits>

#include <mtf/train/adafactor.hpp>
#include <mtf/train/optimizers.hpp>

#include "options.hpp"

namespace mtf::tools {

/// Calls f(flag, number) for those that not all optimizers have.
template <class Options, class F>
void each_number(Options& x, F const& f) {
  if constexpr (requires { x.beta1; }) f("--beta1", x.beta1);
  if constexpr (requires { x.beta2; }) f("--beta2", x.beta2);
  if constexpr (requires { x.epsilon; }) f("--epsilon", x.epsilon);
  if constexpr (requires { x.momentum; }) f("--momentum", x.momentum);
  if constexpr (requires { x.decay_exponent; }) f("--decay-exponent", x.decay_exponent);
  if constexpr (requires { x.clip_rms; }) f("--clip-rms", x.clip_rms);
  if constexpr (requires { x.epsilon1; }) f("--epsilon1", x.epsilon1);
  if constexpr (requires { x.epsilon2; }) f("--epsilon2", x.epsilon2);
}

/// An optimizer's options: the library's, but for AdamW's beta2, which is that of GPT-3, and what the command line
/// says.
template <class Options>
Options numbers_of(options const& o) {
  Options x{};
  if constexpr (std::is_same_v<Options, mtf::adamw_options>) x.beta2 = 0.95;
  x.weight_decay = o.weight_decay;
  x.clip_norm = o.clip;
  each_number(x, [&](char const* flag, double& number) {
    if (auto const given = o.numbers.find(flag); given != o.numbers.end()) number = given->second;
  });
  return x;
}

}  // namespace mtf::tools
