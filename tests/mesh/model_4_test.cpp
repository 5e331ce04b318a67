// ranks: 4
// compilers: first
#include "model_layouts.hpp"

TEST_CASE("layouts of four ranks") {
  using namespace model_layouts;
  equals_one_rank<double, "data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">();
  equals_one_rank<double, "rows:2;cols:2", "batch:rows;sequence:cols">();
  equals_one_rank<double, "rows:2;cols:2", "sequence:rows;heads:cols;d_ff:cols;vocab:cols">();
  equals_one_rank<double, "rows:2;cols:2", "batch:rows+cols">();
  equals_one_rank<double, "rows:2;cols:2", "d_model:rows;heads:cols;d_ff:cols;vocab:cols">();
  equals_one_rank<double, "rows:2;cols:2", "batch:rows;d_ff:cols", "batch:cols;heads:rows">();
}
TEST_CASE("layouts of four ranks, in float") {
  using namespace model_layouts;
  equals_one_rank<float, "rows:2;cols:2", "batch:rows;d_ff:cols", "batch:cols;heads:rows">();
}
