// ranks: 1 2
// compilers: first
#include "model_layouts.hpp"

TEST_CASE("layouts of one and two ranks") {
  using namespace model_layouts;
  equals_one_rank<double, "one:1", "batch:one">();
  equals_one_rank<double, "data:2", "batch:data">();
  equals_one_rank<double, "model:2", "heads:model;d_ff:model;vocab:model">();
  equals_one_rank<double, "seq:2", "sequence:seq">();
  equals_one_rank<double, "model:2", "d_model:model">();
  equals_one_rank<double, "model:2", "memory:model;d_ff:model">();
  equals_one_rank<double, "model:2", "d_head:model;vocab:model">();
  equals_one_rank<double, "all:2", "batch:all", "heads:all;d_ff:all;vocab:all">();
}
TEST_CASE("layouts of one and two ranks, in float") {
  using namespace model_layouts;
  equals_one_rank<float, "model:2", "heads:model;d_ff:model;vocab:model">();
  equals_one_rank<float, "all:2", "batch:all", "heads:all;d_ff:all;vocab:all">();
}
