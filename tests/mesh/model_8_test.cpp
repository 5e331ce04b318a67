// ranks: 8
// compilers: first
#include "model_layouts.hpp"

TEST_CASE("layouts of eight ranks") {
  using namespace model_layouts;
  equals_one_rank<double, "x:2;y:2;z:2", "batch:x;sequence:y;heads:z;d_ff:z;vocab:z">();
  equals_one_rank<double, "x:2;y:2;z:2", "batch:x;d_model:y;heads:z;d_ff:z;vocab:z">();
  equals_one_rank<double, "x:2;y:2;z:2", "batch:x+y;heads:z;d_ff:z;vocab:z", "batch:y+z;memory:x">();
}
TEST_CASE("layouts of eight ranks, in float") {
  using namespace model_layouts;
  equals_one_rank<float, "x:2;y:2;z:2", "batch:x;d_model:y;heads:z;d_ff:z;vocab:z">();
}
