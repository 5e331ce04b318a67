#pragma once
// Batch and sequence are llm.c's on CPUs.
#include "../../models/gpt2/config.hpp"

struct config : mtf::gpt2::small<4, 64> {};
