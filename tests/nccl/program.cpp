// A program whose ranks have NCCL between them, compiled: NCCL wants a GPU for each rank, so it is not run here.
#include <type_traits>

#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>
#include <mtf/nccl.hpp>

namespace {

struct batch : mtf::dim<"batch", 8> {};

}  // namespace

int main(int argc, char** argv) {
  using layout = mtf::layout_of<"data:2", "batch:data", batch>;
  return mtf::run<mtf::mesh_of<"data:2">, mtf::kokkos_backend<>>(argc, argv, [](auto& machine) {
    using place = mtf::place<float, layout, std::remove_cvref_t<decltype(machine)>>;
    auto const x = mtf::ones<typename place::template tensor<batch>>(machine);
    return mtf::item(mtf::complete(mtf::sum(x))) == 8 && mtf::item(mtf::complete(mtf::reduce_max(x))) == 1 ? 0 : 1;
  });
}
