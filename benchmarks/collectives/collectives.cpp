// Microseconds for collectives of float between the ranks of one node: through the memory that they share, beside MPI's
// own, alternating in one run. For scale: the time to copy a rank's message. Usage: mpirun -n 2 benchmark-collectives
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include <mtf/mpi.hpp>

namespace {

using clock_type = std::chrono::steady_clock;

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

struct buffers {
  std::vector<float> in, out;
};

/// A collective of `count` elements that a rank puts in, or, of an all-gather, gets.
mtf::collective of(mtf::collective_kind kind, std::size_t count, std::size_t ranks) {
  auto const type = mtf::element::f32;
  switch (kind) {
    case mtf::collective_kind::all_reduce:
      return mtf::collective::all_reduce(1, mtf::combine::sum, type, count);
    case mtf::collective_kind::reduce_scatter:
      return mtf::collective::reduce_scatter(1, type, count / ranks);
    case mtf::collective_kind::all_gather:
      return mtf::collective::all_gather(1, type, count / ranks);
    default:
      return mtf::collective::all_to_all(1, type, count / ranks);
  }
}

void measure(int ranks) {
  mtf::mesh_shape const mesh{1, {ranks, 1, 1, 1, 1, 1}};
  mtf::mpi_collectives shared(mesh, "ranks:" + std::to_string(ranks), {.shared_memory = true});
  mtf::mpi_collectives mpi(mesh, "ranks:" + std::to_string(ranks), {.shared_memory = false});
  if (mpi.rank() == 0)
    std::printf("%-15s %10s  %12s %12s %8s  %12s\n", "microseconds", "KiB", "shared", "MPI", "ratio", "memcpy");
  for (auto const kind : {mtf::collective_kind::all_reduce, mtf::collective_kind::reduce_scatter,
                          mtf::collective_kind::all_gather, mtf::collective_kind::all_to_all})
    for (std::size_t const bytes : {std::size_t{64}, std::size_t{4} << 10U, std::size_t{64} << 10U,
                                    std::size_t{1} << 20U, std::size_t{16} << 20U, std::size_t{64} << 20U}) {
      auto const count = bytes / sizeof(float);
      auto const c = of(kind, count, static_cast<std::size_t>(ranks));
      buffers b{std::vector<float>(count, 1.0F), std::vector<float>(count)};
      std::vector<double> times[3];
      int const rounds = bytes > (std::size_t{1} << 20U) ? 15 : 101;
      for (int i = 0; i < rounds; ++i) {
        auto const timed = [&](std::vector<double>& into, auto const& f) {
          mpi.barrier();
          auto const start = clock_type::now();
          f();
          double seconds = std::chrono::duration<double>(clock_type::now() - start).count();
          mpi.communicate(mtf::collective::all_reduce(1, mtf::combine::max, mtf::element::f64, 1), &seconds, &seconds);
          into.push_back(seconds);
        };
        timed(times[0], [&] { shared.communicate(c, b.in.data(), b.out.data()); });
        timed(times[1], [&] { mpi.communicate(c, b.in.data(), b.out.data()); });
        timed(times[2], [&] { std::memcpy(b.out.data(), b.in.data(), bytes); });
      }
      double const ours = 1e6 * median(times[0]), theirs = 1e6 * median(times[1]);
      if (mpi.rank() == 0)
        std::printf("%-15s %10.2f  %12.1f %12.1f %8.2f  %12.1f\n", mtf::name_of(kind),
                    static_cast<double>(bytes) / 1024, ours, theirs, theirs / ours, 1e6 * median(times[2]));
    }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  measure(ranks);
  MPI_Finalize();
}
