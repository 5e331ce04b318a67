#pragma once
// The frame of a program: MPI, the backend's session, errors and exit codes.
//
//   int main(int argc, char** argv) {
//     return mtf::run<my_mesh, mtf::kokkos_backend<>>(argc, argv, [](auto& machine) { train(machine); });
//   }
#include <type_traits>
#include <utility>

#include <mtf/core/mesh.hpp>
#include <mtf/mpi/collectives.hpp>
#include <mtf/mpi/environment.hpp>

namespace mtf {

/// Initializes MPI, checks that mpirun started as many ranks as `Mesh` has, opens a `Backend::session(argc, argv)`,
/// makes a `Backend` from the rank's collectives and calls `f(backend)`. Gives f's exit code, 0 if f returns nothing.
///
/// A user_error that all ranks throw is printed once: exit code 2. Any other exception, or one that the other ranks do
/// not share, is printed by its rank and ends all ranks: exit code 1, or 2 for a user_error. No rank waits for ever for
/// one that failed. Refused: anything but a mesh, such as a layout.
template <class Mesh, class Backend, class F>
  requires mesh_type<Mesh>
int run(int& argc, char**& argv, F&& f) {
  mpi::mpi_environment mpi(argc, argv);
  if (auto const needed = Mesh::shape().size(); mpi.size() != needed)
    return mpi.report(mpi::wrong_rank_count(Mesh::text(), needed, mpi.size()));
  return mpi.guard([&] {
    [[maybe_unused]] typename Backend::session session(argc, argv);
    mpi_collectives ranks(Mesh::shape(), Mesh::text());
    return mpi.guard([&] {
      Backend backend(ranks);
      return mpi.guard([&] {
        if constexpr (std::is_void_v<std::invoke_result_t<F, Backend&>>) {
          std::forward<F>(f)(backend);
          return 0;
        } else {
          return static_cast<int>(std::forward<F>(f)(backend));
        }
      });
    });
  });
}
template <class Mesh, class Backend, class F>
int run(int&, char**&, F&&) {
  using checked = checked_t<error_not_a_mesh<Mesh>>;
  return checked::value;
}

}  // namespace mtf
