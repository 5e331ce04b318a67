#pragma once
// Batch and sequence are llm.c's on CPUs.
#include "gpt2_shape.hpp"

struct config : gpt2_shape<4, 64> {};
