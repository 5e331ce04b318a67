// A first program: four ranks, which are threads of one process.
#include <mtf/kokkos.hpp>   // local compute
#include <mtf/mtf.hpp>      // dimensions, layouts, operations
#include <mtf/threads.hpp>  // collectives between threads

#include <cstdio>

struct city : mtf::dim<"city", 8> {};
struct month : mtf::dim<"month", 12> {};
struct data : mtf::axis<"data", 4> {};
using where = mtf::layout<mtf::mesh<data>, mtf::split<city, data>>;
using backend = mtf::kokkos_backend<Kokkos::Serial>;  // a rank computes on its own thread

int main(int argc, char** argv) {
  return mtf::run_threads<where::mesh_type, backend>(argc, argv, [](backend& machine) {
    using real = mtf::place<double, where, backend>;
    auto const rain = mtf::iota<month, real::tensor<city, month>>(machine) + 1;  // 1 to 12, in every city
    auto const year = mtf::sum<month>(rain);  // [city], split over data: nothing is sent
    auto const all = mtf::sum(year);          // partial over data: each rank has the sum of its own two cities
    double const total = mtf::item(all);      // one all-reduce of one number; every rank makes this call
    if (machine.ranks().rank() == 0) std::printf("rank 0 has %zu cities; total %g\n", year.local().size(), total);
    return total == 8 * 78 ? 0 : 1;
  });
}
