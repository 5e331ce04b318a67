#pragma once
// What every operation needs: names and verdicts, shardings and the loops over shards, the backend's memory and
// profiling scopes, the tape, and the way from shardings back to tensor types. The header of an operation includes
// this, what else it uses, and the operations that it is composed of.
// IWYU pragma: begin_exports
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/ref.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/ops/derived.hpp>
#include <mtf/detail/ops/operands.hpp>
#include <mtf/detail/ops/operate.hpp>
#include <mtf/detail/ops/operation.hpp>
#include <mtf/detail/ops/passes.hpp>
#include <mtf/detail/sharding/finding.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/tape/gradient_slot.hpp>
#include <mtf/detail/tape/record.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/tensor/tensor.hpp>
#include <mtf/tensor/valid_layout.hpp>
// IWYU pragma: end_exports
