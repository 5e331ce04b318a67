// Which calls all ranks must make, and what one sees who forgets it.
#include "on_ranks.hpp"

#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

struct city : mtf::dim<"city", 8> {};
struct data : mtf::axis<"data", 4> {};
using where = mtf::layout<mtf::mesh<data>, mtf::split<city, data>>;
using backend = recipes::backend;
using rain_type = mtf::place<double, where, backend>::tensor<city>;

void print_total(backend& machine, rain_type const& rain) {
  if (machine.ranks().rank() == 0)
    std::printf("total %g\n", mtf::item(mtf::sum(rain)));  // wrong: rank 0 alone calls item()
}
void print_total_mended(backend& machine, rain_type const& rain) {
  double const total = mtf::item(mtf::sum(rain));  // all ranks
  if (machine.ranks().rank() == 0) std::printf("total %g\n", total);
}

template <class F>
std::string error_of(F const& print) {
  try {
    recipes::on_ranks<where>([&](backend& machine) { print(machine, mtf::ones<rain_type>(machine)); });
  } catch (std::logic_error const& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a call that one rank makes alone is an error between threads") {
  CHECK(error_of(print_total_mended) == "");
  auto const text = error_of(print_total);
  MESSAGE(text);
  CHECK(text.find("all-reduce") == 0);
  CHECK(text.find("of mesh data:4 waits for rank") != std::string::npos);
  CHECK(text.find("which has ended: all ranks must make the same calls") != std::string::npos);
}

}  // namespace
