// ranks: 4
#include "operation_layouts.hpp"

TEST_CASE("operations on four ranks") {
  using namespace operation_layouts;
  equal_one_rank<"p:2;q:2", "a:p;c:q">();
}
