#pragma once
// Dimensions, meshes, layouts, the commonest operations, derivatives, optimizers, plans. Needs Boost.Hana only. A
// family of operations is in a header of its own, such as <mtf/ops/movement.hpp>. Included by their names, as every
// program would pay for them: the backends, plans of layouts that are values (plan/plan_under.hpp, search.hpp,
// best_layout.hpp), groups of parameters (train/groups.hpp), what looks at a run (train/loop.hpp,
// first_not_finite.hpp), checkpoints and data.

// IWYU pragma: begin_exports
#include <mtf/autodiff/accumulated.hpp>
#include <mtf/autodiff/as_computed.hpp>
#include <mtf/autodiff/gradient.hpp>
#include <mtf/autodiff/recompute.hpp>
#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/single_rank.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/describe.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/host_device.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/linearity.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/notation.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/precision.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/core/visible.hpp>
#include <mtf/math/functions.hpp>
#include <mtf/ops/contraction/einsum.hpp>
#include <mtf/ops/contraction/linear.hpp>
#include <mtf/ops/create/attention_mask.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/create/from_global.hpp>
#include <mtf/ops/create/from_rows.hpp>
#include <mtf/ops/create/iota.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/create/to_global.hpp>
#include <mtf/ops/elementwise/elementwise.hpp>
#include <mtf/ops/elementwise/functions.hpp>
#include <mtf/ops/elementwise/map.hpp>
#include <mtf/ops/elementwise/with_numbers.hpp>
#include <mtf/ops/indexing/embedding.hpp>
#include <mtf/ops/movement/broadcast.hpp>
#include <mtf/ops/movement/cast.hpp>
#include <mtf/ops/movement/complete.hpp>
#include <mtf/ops/movement/relayout.hpp>
#include <mtf/ops/movement/rename.hpp>
#include <mtf/ops/movement/stop_gradient.hpp>
#include <mtf/ops/movement/transpose.hpp>
#include <mtf/ops/nn/attention.hpp>
#include <mtf/ops/nn/cross_entropy.hpp>
#include <mtf/ops/nn/dropout.hpp>
#include <mtf/ops/nn/norm.hpp>
#include <mtf/ops/no_such_name.hpp>
#include <mtf/ops/reduction/masked_softmax.hpp>
#include <mtf/ops/reduction/reduce.hpp>
#include <mtf/ops/reduction/softmax.hpp>
#include <mtf/plan/budget.hpp>
#include <mtf/plan/describe.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/machines.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/without_communication.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/place.hpp>
#include <mtf/tensor/tensor.hpp>
#include <mtf/tensor/valid_layout.hpp>
#include <mtf/train/adafactor.hpp>
#include <mtf/train/decay_weights.hpp>
#include <mtf/train/global_norm.hpp>
#include <mtf/train/moving_average.hpp>
#include <mtf/train/optimizer.hpp>
#include <mtf/train/optimizers.hpp>
#include <mtf/train/scan.hpp>
#include <mtf/train/schedules.hpp>
#include <mtf/version.hpp>
// IWYU pragma: end_exports
