#pragma once
// The example's model with a depth of its own: compile time must not depend on it.
#define config demo_config
#include "../../examples/transformer/configs/demo.hpp"
#undef config

struct config : demo_config {
  struct layers : mtf::dim<"layers", LAYERS> {};
};
