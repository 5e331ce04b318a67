// ranks: 2
#include "operation_layouts.hpp"

TEST_CASE("operations on two ranks") {
  using namespace operation_layouts;
  equal_one_rank<"p:2", "b:p">();
  equal_one_rank<"p:2", "c:p">();
}
