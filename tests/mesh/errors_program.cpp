// A program that fails in the way that its first argument names, with ranks that are processes, or threads if the
// second is "threads"; errors_test.cmake looks at what it prints and returns.
#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <mtf/backend/layout_table.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/extents_value.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/mpi.hpp>
#include <mtf/threads.hpp>

namespace {

struct rows : mtf::axis<"rows", 2> {};
struct cols : mtf::axis<"cols", 2> {};
struct lone : mtf::axis<"lone", 1> {};

void check_before_finalize(char const* what) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized != 0) std::fprintf(stderr, "mtf: %s outlived MPI\n", what);
}

struct backend {
  struct session {
    session(int&, char**&) {}
    ~session() { check_before_finalize("the session"); }
    session(session const&) = delete;
    session& operator=(session const&) = delete;
  };
  explicit backend(mtf::collectives& c) : ranks(c) {}
  ~backend() { check_before_finalize("the backend"); }
  backend(backend const&) = delete;
  backend& operator=(backend const&) = delete;

  mtf::collectives& ranks;
};

struct session_fails : backend {
  struct session : backend::session {
    session(int& argc, char**& argv) : backend::session(argc, argv) { throw mtf::user_error("no such device"); }
  };
  using backend::backend;
};

int act(std::string const& how, mtf::collectives& c) {
  bool const chosen = c.rank() == c.mesh().size() - 1;
  double one = 1, sum = 0;
  auto const everyone = (mtf::axis_mask{1} << c.mesh().ndim) - 1U;
  auto const wait_for_all = [&] {
    c.communicate(mtf::collective::all_reduce(everyone, mtf::combine::sum, mtf::element::f64, 1), &one, &sum);
  };
  if (how == "code") return 7;
  if (how == "user-all") throw mtf::user_error("no file a.txt");
  if (how == "user-one" && chosen) throw mtf::user_error("no file b.txt");
  if (how == "user-one-barrier") {
    if (chosen) throw mtf::user_error("no file c.txt");
    c.barrier();
  }
  if (how == "user-one-started" && chosen) {
    auto const open =
        c.start(mtf::collective::all_reduce(everyone, mtf::combine::sum, mtf::element::f64, 1), &one, &sum);
    throw mtf::user_error("no file d.txt");
  }
  if (how == "user-one-others-done") {
    if (chosen) throw mtf::user_error("no file e.txt");
    return 0;
  }
  if (how == "early-one") {
    if (!chosen) c.communicate(mtf::collective::all_reduce(0b01U, mtf::combine::sum, mtf::element::f64, 1), &one, &sum);
    return 0;
  }
  if (how == "early-one-permute") {
    int const below = (c.rank() + 2) % 4;
    if (!chosen) c.communicate(mtf::collective::permute(0b01U, mtf::element::f64, 1, below, below), &one, &sum);
    return 0;
  }
  if (how == "early-one-code") {
    if (chosen) return 5;
    c.barrier();
  }
  if (how == "differ-kind") {
    if (chosen)
      c.communicate(mtf::collective::all_gather(0b01U, mtf::element::f64, 1), &one, std::array<double, 2>{}.data());
    else
      c.communicate(mtf::collective::all_reduce(0b01U, mtf::combine::sum, mtf::element::f64, 1), &one, &sum);
    return 0;
  }
  if (how == "differ-operation") {  // of one size and type: without a check a wrong number
    c.enter(chosen ? "softmax" : "einsum");
    c.communicate(mtf::collective::all_reduce(everyone, mtf::combine::sum, mtf::element::f64, 1), &one, &sum);
    c.leave();
    return 0;
  }
  if (how == "differ-combination") {
    c.communicate(
        mtf::collective::all_reduce(everyone, chosen ? mtf::combine::max : mtf::combine::sum, mtf::element::f64, 1),
        &one, &sum);
    return 0;
  }
  if (how == "differ-axes") {
    c.communicate(mtf::collective::all_reduce(chosen ? 0b01U : 0b10U, mtf::combine::sum, mtf::element::f64, 1), &one,
                  &sum);
    c.barrier();
    return 0;
  }
  if (how == "other-one" && chosen) throw std::runtime_error("out of luck");
  if (how == "mpi-one" && chosen)
    c.communicate(mtf::collective::permute(everyone, mtf::element::f64, 1, c.mesh().size(), c.rank()), &one, &sum);
  if (how == "unknown-one" && chosen) throw 3;
  wait_for_all();
  return sum == c.mesh().size() ? 0 : 9;
}

struct sized_backend {
  using session = backend::session;
  explicit sized_backend(mtf::collectives& c) : collectives_(c) {}
  mtf::collectives& ranks() { return collectives_; }
  mtf::backend::layout_table& layouts() { return layouts_; }

 private:
  mtf::collectives& collectives_;
  mtf::backend::layout_table layouts_;
};

template <class Mesh, class Backend, class F>
int run(bool threads, int& argc, char**& argv, F const& f) {
  return threads ? mtf::run_threads<Mesh, Backend>(argc, argv, f) : mtf::run<Mesh, Backend>(argc, argv, f);
}

}  // namespace

int main(int argc, char** argv) {
  std::string const how = argc > 1 ? argv[1] : "";
  bool const threads = argc > 2 && argv[2] == std::string("threads");
  using square = mtf::mesh<rows, cols>;
  if (how == "lone")
    return run<mtf::mesh<lone>, backend>(threads, argc, argv, [](backend& b) { act("none", b.ranks); });
  if (how == "same-sizes" || how == "differ-sizes") {
    auto const sizes = [&] {
      int rank = 0;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      std::vector<mtf::layout_value> const layouts{mtf::layout_from(mtf::mesh_from("rows:2;cols:2"), "batch:rows")};
      return mtf::sized_layouts{layouts, {{"batch", how == "differ-sizes" && rank == 3 ? 8 : 6}}};
    };
    return mtf::run_under<sized_backend>(argc, argv, sizes, [](sized_backend& b) {
      return b.layouts().extents().text() == "batch:6" && b.layouts().size() == 1 ? 0 : 9;
    });
  }
  if (how == "session") return run<square, session_fails>(threads, argc, argv, [](backend&) {});
  return run<square, backend>(threads, argc, argv, [&](backend& b) { return act(how, b.ranks); });
}
