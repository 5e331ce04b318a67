// All of mtf::checkpoint_compiled.
#include <mtf/checkpoint/code/checkpoints.hpp>
#include <mtf/checkpoint/code/save.hpp>
