#pragma once
// What an executable is built for, given by CMake (mtf_add_transformer): a config; a precision; and a mesh and layout,
// or any. The program and its plan need the core alone; setup.hpp adds the backends.
#include <array>
#include <string>
#include <type_traits>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>

#include MTF_EXAMPLE_CONFIG
#include "model.hpp"
#include "options.hpp"

namespace transformer {

// An executable for one layout has its plan from a file of its own (planned.cpp), whose layout is any: what has the
// same name in both is not the same.
#if MTF_EXAMPLE_ANY_LAYOUT
inline namespace for_any_layout {
using layout = mtf::any_layout<0>;
using upper_layout = mtf::any_layout<1>;
using language_model = model<config, upper_layout>;
#else
inline namespace for_one_layout {
using mesh = mtf::mesh_of<MTF_EXAMPLE_MESH>;

template <mtf::fixed_string Rules>
using layout_from = mtf::layout_of<MTF_EXAMPLE_MESH, Rules, config::batch, config::sequence, config::memory,
                                   config::d_model, config::heads, config::d_head, config::d_ff, config::vocab>;
using layout = layout_from<MTF_EXAMPLE_LAYOUT>;
using upper_layout = layout_from<MTF_EXAMPLE_UPPER_LAYOUT>;

using language_model = model<config, std::conditional_t<std::is_same_v<layout, upper_layout>, void, upper_layout>>;
#endif
/// float, or an mtf::precision.
using precision = MTF_EXAMPLE_PRECISION;
template <class Backend>
using parameters_on = language_model::parameters<mtf::place<precision, layout, Backend>::template tensor>;
/// What it computes in, which need not be what parameters are stored in.
template <class Backend>
using computed_on = typename decltype(mtf::as_computed_t<parameters_on<Backend>>{}.gamma_f)::element_type;
template <class Backend>
using tokens_on = typename mtf::place<std::int32_t, layout, Backend>::template tensor<config::batch, config::sequence>;

/// Of ranks that hold the same parameters, and other examples or other positions, each has the state of a part of them.
using state_split = mtf::state_split_over<config::batch, config::sequence>;
template <class Backend>
using optimizer_on = mtf::adamw<parameters_on<Backend>, mtf::decay_weights, state_split>;

inline constexpr auto gradients_are_completed = mtf::completed_gradients::overlapped;
/// As the command line says.
inline mtf::completed_gradients when_completed(options const& o) {
  return o.gradients_overlap ? mtf::completed_gradients::overlapped : mtf::completed_gradients::later;
}

/// f<mtf::adamw>(), or another optimizer, as the command line says: each makes a program longer to compile, so only
/// executables that take any layout have others.
template <class F>
auto with_optimizer([[maybe_unused]] options const& o, F const& f) {
  if constexpr (MTF_EXAMPLE_ANY_LAYOUT) {
    if (o.optimizer == "adam") return f.template operator()<mtf::adam>();
    if (o.optimizer == "lion") return f.template operator()<mtf::lion>();
    if (o.optimizer == "adafactor") return f.template operator()<mtf::adafactor>();
    if (o.optimizer == "momentum") return f.template operator()<mtf::momentum>();
    if (o.optimizer == "sgd") return f.template operator()<mtf::sgd>();
  }
  return f.template operator()<mtf::adamw>();
}
/// f(state_split, or a state_split_over nothing), as the command line says. A state that is whole has other types where
/// the layout is one: only executables that take any layout have it.
template <class F>
auto with_state_split([[maybe_unused]] options const& o, F const& f) {
  if constexpr (MTF_EXAMPLE_ANY_LAYOUT)
    if (!o.state_is_split) return f(mtf::state_split_over<>{});
  return f(state_split{});
}

/// The loss of a batch, or of a micro-batch, in training. Only executables that take any layout can recompute.
struct training_loss {
  bool recompute = false;
  constexpr auto operator()(auto const& p, auto const& ids, auto const& labels, language_model::noise n = {}) const {
    if constexpr (MTF_EXAMPLE_ANY_LAYOUT)
      return language_model::loss(p, ids, labels, language_model::recomputed_if(recompute, n));
    else
      return language_model::loss(p, ids, labels, n);
  }
};
/// The same as plans in constant expressions take it.
inline constexpr auto planned_loss = [](auto const& p, auto const& ids, auto const& labels) {
  return training_loss{}(p, ids, labels);
};
inline constexpr mtf::parameters<language_model::parameters, precision> planned_parameters;
inline constexpr mtf::input<std::int32_t, config::batch, config::sequence> planned_tokens;

#if MTF_EXAMPLE_ANY_LAYOUT
/// The layouts of the lower and the upper half of the layers, as the command line says. What is wrong with them: a
/// user_error.
inline std::array<mtf::layout_value, 2> layouts_of(options const& o) {
  auto const mesh = mtf::mesh_from(o.mesh);
  auto const from = [&](std::string const& rules) {
    return mtf::layout_from<config::batch, config::sequence, config::memory, config::d_model, config::heads,
                            config::d_head, config::d_ff, config::vocab>(mesh, rules);
  };
  return {from(o.layout), from(o.upper_layout.value_or(o.layout))};
}
#endif

}  // namespace
}  // namespace transformer
