#pragma once
// The optimizer of a training program, as the command line says it.
#include <type_traits>
#include <utility>
#include <variant>

#include <mtf/mtf.hpp>

#include "options.hpp"
#include "program.hpp"

namespace transformer {

/// One for training_loop, of those that a program can be asked for.
template <class Backend>
class chosen_optimizer {
  using parameters = parameters_on<Backend>;
  template <class Split>
  using one = mtf::adamw<parameters, mtf::decay_weights, Split>;
  using any = std::conditional_t<MTF_EXAMPLE_ANY_LAYOUT, std::variant<one<state_split>, one<mtf::state_split_over<>>>,
                                 std::variant<one<state_split>>>;

 public:
  chosen_optimizer(Backend& machine, options const& o)
      : chosen_(with_state_split(o, [&]<class Split>(Split) {
          return any(std::in_place_type<one<Split>>, machine,
                     mtf::adamw_options{.beta2 = 0.95, .weight_decay = o.weight_decay, .clip_norm = o.clip});
        })) {}

  template <class Gradients>
  double update(Backend& machine, parameters& p, Gradients const& gradients, double learning_rate) {
    return std::visit([&](auto& chosen) { return chosen.update(machine, p, gradients, learning_rate); }, chosen_);
  }
  template <class F>
  void visit_state(F&& f) {
    std::visit([&](auto& chosen) { chosen.visit_state(f); }, chosen_);
  }

 private:
  any chosen_;
};

}  // namespace transformer
