// ranks: 4
#include "operation_layouts.hpp"

TEST_CASE("operations on four ranks") {
  using namespace operation_layouts;
  equal_one_rank<"p:2;q:2", "a:p;c:q">();
  equal_one_rank<"p:2;q:2", "b:q;d:p">();
  equal_one_rank<"p:2;q:2", "c:p+q">();
}
