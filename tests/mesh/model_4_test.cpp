// ranks: 4
#include "model_layouts.hpp"

TEST_CASE_TEMPLATE("layouts of four ranks", T, float, double) {
  using namespace model_layouts;
  equals_one_rank<T, "data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">();
  equals_one_rank<T, "rows:2;cols:2", "batch:rows;sequence:cols">();
  equals_one_rank<T, "rows:2;cols:2", "sequence:rows;heads:cols;d_ff:cols;vocab:cols">();
  equals_one_rank<T, "rows:2;cols:2", "batch:rows+cols">();
  equals_one_rank<T, "rows:2;cols:2", "d_model:rows;heads:cols;d_ff:cols;vocab:cols">();
  equals_one_rank<T, "rows:2;cols:2", "batch:rows;d_ff:cols", "batch:cols;heads:rows">();
}
