// The example's model under many layouts, by value: one program. (That typed programs do the same to the bit:
// threads_any_layout_test.cpp.)
// ranks: 1 2 4 8
// compilers: first
#include "model_layouts.hpp"

TEST_CASE_TEMPLATE("layouts of one and two ranks", T, double, float) {
  using namespace model_layouts;
  equals_one_rank<T>("one:1", "batch:one");
  equals_one_rank<T>("data:2", "batch:data");
  equals_one_rank<T>("model:2", "heads:model;d_ff:model;vocab:model");
  equals_one_rank<T>("seq:2", "sequence:seq");
  equals_one_rank<T>("model:2", "d_model:model");
  equals_one_rank<T>("model:2", "memory:model;d_ff:model");
  equals_one_rank<T>("model:2", "d_head:model;vocab:model");
  equals_one_rank<T>("all:2", "batch:all", "heads:all;d_ff:all;vocab:all");
  equals_one_rank<T>("all:2", "sequence:all", "d_model:all");
}
TEST_CASE_TEMPLATE("layouts of four ranks", T, double, float) {
  using namespace model_layouts;
  equals_one_rank<T>("data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model");
  equals_one_rank<T>("rows:2;cols:2", "batch:rows;sequence:cols");
  equals_one_rank<T>("rows:2;cols:2", "sequence:rows;heads:cols;d_ff:cols;vocab:cols");
  equals_one_rank<T>("rows:2;cols:2", "batch:rows+cols");
  equals_one_rank<T>("rows:2;cols:2", "d_model:rows;heads:cols;d_ff:cols;vocab:cols");
  equals_one_rank<T>("rows:2;cols:2", "batch:rows;d_ff:cols", "batch:cols;heads:rows");
  equals_one_rank<T>("all:4", "heads:all;d_ff:all;vocab:all", "batch:all");
  equals_one_rank<T>("rows:2;cols:2", "d_model:cols+rows", "vocab:rows;memory:cols");
}
TEST_CASE_TEMPLATE("layouts of eight ranks", T, double, float) {
  using namespace model_layouts;
  equals_one_rank<T>("x:2;y:2;z:2", "batch:x;sequence:y;heads:z;d_ff:z;vocab:z");
  equals_one_rank<T>("x:2;y:2;z:2", "batch:x;d_model:y;heads:z;d_ff:z;vocab:z");
  equals_one_rank<T>("x:2;y:2;z:2", "batch:x+y;heads:z;d_ff:z;vocab:z", "batch:y+z;memory:x");
}
