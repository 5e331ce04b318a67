#pragma once
// What an executable is built for: a config, a mesh and a layout, given by CMake (mtf_add_transformer).
#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#if MTF_EXAMPLE_RANKS_AS_THREADS
#include <mtf/threads.hpp>
#endif

#include MTF_EXAMPLE_CONFIG
#include "model.hpp"

namespace transformer {

using mesh = mtf::mesh_of<MTF_EXAMPLE_MESH>;

template <mtf::fixed_string Rules>
using layout_from = mtf::layout_of<MTF_EXAMPLE_MESH, Rules, config::batch, config::sequence, config::memory,
                                   config::d_model, config::heads, config::d_head, config::d_ff, config::vocab>;
using layout = layout_from<MTF_EXAMPLE_LAYOUT>;
using upper_layout = layout_from<MTF_EXAMPLE_UPPER_LAYOUT>;

using language_model = model<config, std::conditional_t<std::is_same_v<layout, upper_layout>, void, upper_layout>>;
using backend = mtf::kokkos_backend<>;  // of a rank that is a process
template <class Backend>
using parameters_on = language_model::parameters<mtf::place<float, layout, Backend>::template tensor>;
template <class Backend>
using tokens_on = typename mtf::place<std::int32_t, layout, Backend>::template tensor<config::batch, config::sequence>;

/// Of ranks that hold the same parameters, and other examples or other positions, each has the state of a part of them.
using state_split = mtf::state_split_over<config::batch, config::sequence>;
template <class Backend>
using optimizer_on = mtf::adamw<parameters_on<Backend>, mtf::decay_weights, state_split>;

inline constexpr auto gradients_are_completed = mtf::completed_gradients::overlapped;

/// What a training step sends and computes, known before it runs.
inline constexpr auto plan = mtf::plan_of<layout, gradients_are_completed, state_split>(
    [](auto const& p, auto const& ids, auto const& labels) { return language_model::loss(p, ids, labels); },
    mtf::parameters<language_model::parameters>{}, mtf::input<std::int32_t, config::batch, config::sequence>{},
    mtf::input<std::int32_t, config::batch, config::sequence>{});
/// Of the products of a step, on all ranks together; what several ranks compute alike counts for each.
inline constexpr double step_flops = plan.flops() * mesh::size;

}  // namespace transformer
