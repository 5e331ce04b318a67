#pragma once
// The frame of a program: MPI, the backend's session, errors and exit codes.
//
//   int main(int argc, char** argv) {
//     return mtf::run<my_mesh, mtf::kokkos_backend<>>(argc, argv, [](auto& machine) { train(machine); });
//   }
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/standard_output.hpp>
#include <mtf/mpi/collectives.hpp>
#include <mtf/mpi/environment.hpp>

namespace mtf {

namespace mpi {

/// The collectives between a backend's ranks. (mtf/nccl.hpp says others for GPUs.)
template <class Backend>
struct ranks_for {
  using type = mpi_collectives;
};

/// What run() does, for a mesh as a value. `prepare(backend)` comes before f.
template <class Backend, class Prepare, class F>
int run_on(mpi_environment& mpi, int& argc, char**& argv, mesh_shape const& mesh, std::string const& mesh_text,
           Prepare const& prepare, F&& f) {
  if (auto const needed = mesh.size(); mpi.size() != needed)
    return mpi.report(wrong_rank_count(mesh_text, needed, mpi.size()));
  return mpi.guard([&] {
    [[maybe_unused]] typename Backend::session session(argc, argv);
    typename ranks_for<Backend>::type ranks(mesh, mesh_text);
    return mpi.guard([&] {
      Backend backend(ranks);
      return mpi.guard([&] {
        prepare(backend);
        if constexpr (std::is_void_v<std::invoke_result_t<F, Backend&>>) {
          std::forward<F>(f)(backend);
          check_standard_output();
          return 0;
        } else {
          int const code = static_cast<int>(std::forward<F>(f)(backend));
          check_standard_output();
          return code;
        }
      });
    });
  });
}

/// Refuses layouts or extents, as a text, that are not the same on all ranks.
inline void check_same(collectives& ranks, std::string const& given) {
  auto const hash = static_cast<std::int64_t>(detail::hash_of(given));
  std::vector<std::int64_t> all(static_cast<std::size_t>(ranks.mesh().size()));
  axis_mask const every = (axis_mask{1} << static_cast<unsigned>(ranks.mesh().ndim)) - 1;
  ranks.communicate(collective::all_gather(every, element_of<std::int64_t>, 1), &hash, all.data());
  for (std::size_t r = 1; r < all.size(); ++r)
    if (all[r] != all[0])
      throw user_error("rank " + std::to_string(r) + " was given other layouts or extents than rank 0; to rank " +
                       std::to_string(ranks.rank()) + ": " + given);
}

/// Makes the environment and calls `body` with it. If MPI cannot start, each rank reports it: none knows its number.
template <class Body>
int with_environment(int& argc, char**& argv, Body const& body) {
  std::optional<mpi_environment> mpi;
  try {
    mpi.emplace(argc, argv);
  } catch (user_error const& e) {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    if (initialized != 0 && finalized == 0) throw;  // inside of another run, which reports it
    std::fprintf(stderr, "mtf: %s\n", e.what());
    return mpi_environment::user_exit;
  }
  return body(*mpi);
}

}  // namespace mpi

/// Initializes MPI, checks that mpirun started as many ranks as `Mesh` has, opens a `Backend::session(argc, argv)`,
/// makes a `Backend` from the rank's collectives and calls `f(backend)`. Gives f's exit code, 0 if f returns nothing.
///
/// A user_error that all ranks throw is printed once: exit code 2. Any other exception, or one that the other ranks do
/// not share, is printed by its rank and ends all ranks: exit code 1, or 2 for a user_error. No rank waits for ever for
/// one that failed. Refused: anything but a mesh, such as a layout.
template <class Mesh, class Backend, class F>
  requires mesh_type<Mesh>
int run(int& argc, char**& argv, F&& f) {
  return mpi::with_environment(argc, argv, [&](mpi::mpi_environment& mpi) {
    return mpi::run_on<Backend>(mpi, argc, argv, Mesh::shape(), Mesh::text(), [](Backend&) {}, std::forward<F>(f));
  });
}
template <class Mesh, class Backend, class F>
int run(int&, char**&, F&&) {
  using checked = checked_t<error_not_a_mesh<Mesh>>;
  return checked::value;
}

/// The same under layouts that are values. `layouts()` is called once MPI runs, so that what it throws is reported like
/// f's errors; it returns a container of those that any_layout<0>, any_layout<1> and so on stand for, on one mesh; or
/// sized_layouts, where extents are values too. If it takes an int, that is the number of ranks. Ranks that were given
/// different ones are told so.
template <class Backend, class Layouts, class F>
int run_under(int& argc, char**& argv, Layouts const& layouts, F&& f) {
  return mpi::with_environment(argc, argv, [&](mpi::mpi_environment& mpi) {
    return mpi.guard([&] {
      auto const given = detail::given_for(layouts, mpi.size());
      auto const& mesh = detail::layouts_in(given).front().mesh;
      return mpi::run_on<Backend>(
          mpi, argc, argv, mesh.shape, mesh.text(),
          [&](Backend& backend) {
            mpi::check_same(backend.ranks(), detail::text_of_given(given));
            detail::give_to(backend.layouts(), given);
          },
          std::forward<F>(f));
    });
  });
}

}  // namespace mtf
