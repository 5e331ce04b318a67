#pragma once
// The NCCL backend: collectives over mesh axes between GPUs, on the stream of the work, so that no rank waits for its
// device. Compiled by nvcc.
#include <mtf/nccl/collectives.hpp>
