#pragma once
// GPT-2's whole context: a step for a GPU.
#include "../../models/gpt2/config.hpp"

struct config : mtf::gpt2::small<8, 1024> {};
