// ranks: 1 2
#include "model_layouts.hpp"

TEST_CASE_TEMPLATE("layouts of one and two ranks", T, float, double) {
  using namespace model_layouts;
  equals_one_rank<T, "one:1", "batch:one">();
  equals_one_rank<T, "data:2", "batch:data">();
  equals_one_rank<T, "model:2", "heads:model;d_ff:model;vocab:model">();
  equals_one_rank<T, "seq:2", "sequence:seq">();
  equals_one_rank<T, "model:2", "d_model:model">();
  equals_one_rank<T, "model:2", "memory:model;d_ff:model">();
  equals_one_rank<T, "model:2", "d_head:model;vocab:model">();
  equals_one_rank<T, "all:2", "batch:all", "heads:all;d_ff:all;vocab:all">();
}
