#pragma once
// GPT-2's whole context: a step for a GPU.
#include "gpt2_shape.hpp"

struct config : gpt2_shape<8, 1024> {};
