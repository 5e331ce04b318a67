#pragma once
// The optimizer of a training program, as the command line says it.
#include <type_traits>
#include <utility>
#include <variant>

#include <mtf/mtf.hpp>

#include "../program.hpp"
#include "optimizer_numbers.hpp"
#include "options.hpp"

namespace mtf::tools {

/// One of those that a program can be asked for. (training_loop has one type for all: it is compiled once.)
template <class Program, class Backend>
class chosen_optimizer {
  using parameters = typename Program::template parameters_on<Backend>;
  using state_split = typename Program::state_split;
  template <template <class...> class Optimizer, class Split>
  using one = Optimizer<parameters, mtf::decay_weights, Split>;
  template <class... Split>
  using of_all = std::variant<one<mtf::adamw, Split>..., one<mtf::adam, Split>..., one<mtf::lion, Split>...,
                              one<mtf::adafactor, Split>..., one<mtf::momentum, Split>..., one<mtf::sgd, Split>...>;
  using any = std::conditional_t<Program::takes_any_layout, of_all<state_split, mtf::state_split_over<>>,
                                 std::variant<one<mtf::adamw, state_split>>>;

 public:
  chosen_optimizer(Backend& machine, options const& o)
      : chosen_(with_optimizer<Program>(o, [&]<template <class...> class Optimizer>() {
          return with_state_split<Program>(o, [&]<class Split>(Split) {
            using type = one<Optimizer, Split>;
            return any(std::in_place_type<type>, machine, numbers_of<typename type::options_type>(o));
          });
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

}  // namespace mtf::tools
