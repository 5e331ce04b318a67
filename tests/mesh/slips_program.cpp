// Slips that compile: the first argument names one. slips_test.cmake looks at what the program prints and returns.
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include <mtf/kokkos.hpp>
#include <mtf/mpi.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>

namespace {

struct rows : mtf::dim<"rows", 8> {};
struct one : mtf::axis<"one", 1> {};
struct two : mtf::axis<"two", 2> {};
struct many : mtf::axis<"many", 1024> {};
using backend = mtf::kokkos_backend<Kokkos::Serial>;

template <class Mesh>
using vector_on = mtf::tensor<float, mtf::shape<rows>, mtf::layout<Mesh>, mtf::partial<>, backend>;
template <class Mesh>
double sum_of_ones(backend& machine) {
  return mtf::item(mtf::sum(mtf::ones<vector_on<Mesh>>(machine)));
}
int sums(backend& machine) { return sum_of_ones<mtf::mesh<two>>(machine) == 8 ? 0 : 9; }
int sums_alone(backend& machine) { return sum_of_ones<mtf::mesh<one>>(machine) == 8 ? 0 : 9; }

int act(std::string const& how, int argc, char** argv) {
  auto const threads = [&](auto const& f) { return mtf::run_threads<mtf::mesh<two>, backend>(argc, argv, f); };
  auto const alone = [&](auto const& f) { return mtf::run<mtf::mesh<one>, backend>(argc, argv, f); };
  if (how == "threads-twice") return threads(sums) + threads(sums);
  if (how == "threads-nested")
    return threads([&](backend& machine) {
      int count = 1;
      char* none[] = {argv[0], nullptr};
      char** words = none;
      return sums(machine) + mtf::run_threads<mtf::mesh<two>, backend>(count, words, sums);
    });
  if (how == "threads-at-once") {
    int codes[2] = {9, 9};
    std::thread other([&] { codes[0] = threads(sums); });
    codes[1] = threads(sums);
    other.join();
    return codes[0] + codes[1];
  }
  if (how == "run-and-threads") return alone(sums_alone) + threads(sums);
  if (how == "run-twice") {
    int const first = alone(sums_alone), second = alone(sums_alone);
    return first == 0 ? second : 9;
  }
  if (how == "run-nested")
    return alone([&](backend& machine) {
      int const code = alone(sums_alone);
      return sums_alone(machine) + code;
    });
  std::optional<vector_on<mtf::mesh<one>>> kept;
  if (how == "outlives") return alone([&](backend& machine) { kept = mtf::ones<vector_on<mtf::mesh<one>>>(machine); });
  if (how == "other-thread")
    return alone([&](backend& machine) {
      std::string said;
      std::thread([&] {
        try {
          sums_alone(machine);
        } catch (mtf::user_error const& e) {
          said = e.what();
        }
      }).join();
      throw mtf::user_error(said);
    });
  mtf::single_rank ranks;
  if (how == "backend-first") try {
      backend const machine(ranks);
      return 0;
    } catch (mtf::user_error const& e) {
      std::fprintf(stderr, "mtf: %s\n", e.what());
      return 2;
    }
  if (how == "collectives-first") try {
      mtf::mpi_collectives const all(mtf::mesh<one>::shape());
      return 0;
    } catch (mtf::user_error const& e) {
      std::fprintf(stderr, "mtf: %s\n", e.what());
      return 2;
    }
  if (how == "full-disk") return alone([](backend&) { std::printf("a line\n"); });
  if (how == "many-threads") return mtf::run_threads<mtf::mesh<many>, backend>(argc, argv, sums);
  return 8;
}

}  // namespace

int main(int argc, char** argv) { return act(argc > 1 ? argv[1] : "", argc, argv); }
