#pragma once
// Everything but the backends: dimensions, meshes, layouts, operations, derivatives, optimizers, plans. Needs Boost.Hana only.
#include <mtf/attention.hpp>
#include <mtf/cross_entropy.hpp>
#include <mtf/embedding.hpp>
#include <mtf/linear.hpp>
#include <mtf/norm.hpp>
#include <mtf/notation.hpp>
#include <mtf/plan.hpp>
#include <mtf/random.hpp>
#include <mtf/softmax.hpp>
#include <mtf/without_communication.hpp>
