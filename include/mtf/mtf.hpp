#pragma once
// Everything but the backends: dimensions, meshes, layouts, operations, derivatives, optimizers, plans. Needs Boost.Hana only.
#include <mtf/ops/nn/attention.hpp>
#include <mtf/ops/nn/cross_entropy.hpp>
#include <mtf/ops/indexing/embedding.hpp>
#include <mtf/ops/contraction/linear.hpp>
#include <mtf/ops/nn/norm.hpp>
#include <mtf/core/notation.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/ops/reduction/softmax.hpp>
#include <mtf/plan/without_communication.hpp>
