// A step's work in graphs: all that is launched is done once and in order, wherever a record ends, and nothing is lost
// silently. The device is played here.
#include <cstddef>
#include <exception>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/backend/single_rank.hpp>
#include <mtf/backend/step.hpp>
#include <mtf/core/error.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/kokkos/runtime/graph_segments.hpp>
#include <mtf/kokkos/runtime/step_graph.hpp>

namespace {

/// A stream: what was done, and what is recorded instead.
struct stream {
  std::vector<int> done, recorded;
  bool recording = false;
  int executables = 0, said = 0;
  char const* fails = "";

  void launch(int work) { (recording ? recorded : done).push_back(work); }
  void fail(char const* what) const {
    if (std::string(fails) == what) throw std::runtime_error(what);
  }
};

/// Graphs of as many nodes can take each other's place.
class recorder {
 public:
  using graph = std::vector<int>;
  class executable {
   public:
    executable(stream* on, graph const& of) : on_(on), work(of) { ++on->executables; }
    executable(executable&& other) noexcept : on_(std::exchange(other.on_, nullptr)), work(std::move(other.work)) {}
    executable& operator=(executable&&) = delete;
    ~executable() {
      if (on_ != nullptr) --on_->executables;
    }

   private:
    stream* on_;

   public:
    graph work;
  };

  explicit recorder(stream* on) : on_(on) {}
  void begin() {
    on_->fail("begin");
    REQUIRE(!on_->recording);
    on_->recording = true;
  }
  graph end() {
    REQUIRE(on_->recording);
    on_->recording = false;
    auto made = std::exchange(on_->recorded, {});
    on_->fail("end");
    return made;
  }
  static bool empty(graph const& of) { return of.empty(); }
  executable instantiate(graph const& of) {
    on_->fail("instantiate");
    return {on_, of};
  }
  static bool update(executable& what, graph const& to) {
    if (what.work.size() != to.size()) return false;
    what.work = to;
    return true;
  }
  void launch(executable const& what) {
    on_->fail("launch");
    REQUIRE(!on_->recording);
    on_->done.insert(on_->done.end(), what.work.begin(), what.work.end());
  }
  void cannot_begin(std::exception const&) noexcept { ++on_->said; }

 private:
  stream* on_;
};
using segments = mtf::kokkos::graph_segments<recorder>;

/// What a backend does: it records if it may, and launches.
struct rank {
  explicit rank(std::size_t longest = 128) : graphs(recorder(&device), longest) { graphs.turn(true); }
  void begin_step() { graphs.begin_step(); }
  void end_step() noexcept { graphs.end_step(); }
  void launch(bool recorded = true) {
    if (recorded) graphs.record();
    device.launch(launched++);
  }
  /// Steps in which nothing is recorded.
  void plain_steps() {
    for (int i = 0; i < segments::plain_steps; ++i) {
      mtf::backend::step<rank> const here(*this);
      launch();
      CHECK(!graphs.recording());
    }
  }
  [[nodiscard]] std::vector<int> all() const {
    std::vector<int> work(static_cast<std::size_t>(launched));
    std::iota(work.begin(), work.end(), 0);
    return work;
  }

  stream device;
  segments graphs;
  int launched = 0;
};

TEST_CASE("all work is done once, in order, wherever records end and whatever is not recorded") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto const below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    rank r(1 + below(9));
    for (int step = 0; step < 8; ++step) {
      try {
        mtf::backend::step<rank> const here(r);
        for (unsigned i = below(40); i > 0; --i) switch (below(12)) {
            case 0:
              r.graphs.flush();
              CHECK(!r.graphs.recording());
              CHECK(r.device.done == r.all());
              break;
            case 1:
              r.launch(false);
              break;
            case 2:
              r.graphs.record();  // and nothing is launched
              break;
            case 3:
              if (seed % 3 == 0) throw std::runtime_error("in the middle of a step");
              break;
            default:
              r.launch();
          }
      } catch (std::runtime_error const&) {
      }
      CHECK(!r.device.recording);
      CHECK(r.device.recorded.empty());
      CHECK(r.device.done == r.all());
      r.launch();  // between steps, as an evaluation does
      CHECK(r.device.done == r.all());
    }
    auto const& counts = r.graphs.counts();
    CHECK(counts.launched == counts.updated + counts.instantiated);
  }
}

TEST_CASE("equal steps take the executables of the first one; another step has new ones where it differs") {
  rank r(4);
  auto const step = [&](int first, int second) {
    mtf::backend::step<rank> const here(r);
    for (int i = 0; i < first; ++i) r.launch();
    r.graphs.flush();
    for (int i = 0; i < second; ++i) r.launch();
  };
  r.plain_steps();
  CHECK(r.graphs.counts().launched == 0);
  step(10, 3);  // of 4, 4, 2, and 3
  CHECK(r.graphs.counts().instantiated == 4);
  for (int i = 0; i < 5; ++i) step(10, 3);
  CHECK(r.graphs.counts().instantiated == 4);
  CHECK(r.graphs.counts().updated == 20);
  CHECK(r.device.executables == 4);
  step(10, 2);
  CHECK(r.graphs.counts().instantiated == 5);
  step(1, 0);
  CHECK(r.graphs.counts().instantiated == 6);
  CHECK(r.device.executables == 4);
  CHECK(r.device.done == r.all());
  r.graphs.turn(false);
  CHECK(r.device.executables == 0);
  auto const before = r.graphs.counts().launched;
  step(10, 3);
  CHECK(r.graphs.counts().launched == before);
  CHECK(r.device.done == r.all());
}

TEST_CASE("where recording cannot begin, nothing is lost, and it is said once") {
  rank r;
  r.plain_steps();
  r.device.fails = "begin";
  for (int i = 0; i < 3; ++i) {
    mtf::backend::step<rank> const here(r);
    r.launch();
    r.launch();
  }
  CHECK(r.device.said == 1);
  CHECK(r.graphs.counts().launched == 0);
  CHECK(r.device.done == r.all());
}

TEST_CASE("a lost record is an error, then and in every later call, also where the step ends by it") {
  for (char const* what : {"end", "instantiate", "launch"}) {
    CAPTURE(what);
    for (bool const by_its_end : {false, true}) {
      rank r;
      r.plain_steps();
      r.device.fails = what;
      {
        mtf::backend::step<rank> const here(r);
        r.launch();
        if (!by_its_end) CHECK_THROWS_WITH(r.graphs.flush(), what);
      }
      CHECK(!r.device.recording);
      CHECK(r.device.recorded.empty());
      r.device.fails = "";
      CHECK_THROWS_WITH(r.graphs.flush(), what);
      CHECK_THROWS_WITH(r.graphs.record(), what);
    }
  }
}

using machine_type = mtf::kokkos_backend<>;
constexpr bool has_graphs = mtf::kokkos::has_graphs<machine_type::execution_space>;

TEST_CASE("a backend without graphs refuses them, and its steps are as ever") {
  mtf::single_rank ranks;
  machine_type machine(ranks);
  if constexpr (!has_graphs)
    CHECK_THROWS_WITH_AS(machine.graphs(true), "graphs: the work of a step can be graphs on CUDA only",
                         mtf::user_error);
  machine.graphs(false);
  mtf::backend::step<machine_type> const here(machine);
  machine.fence();
}

// On a GPU with graphs, which nothing else in this file has.
TEST_CASE("steps of a backend compute the same, with what is read and written in between") {
  mtf::single_rank ranks;
  machine_type machine(ranks);
  if constexpr (has_graphs) machine.graphs(true);
  constexpr int n = 1000;
  auto x = mtf::backend::make_buffer<float>(machine, n);
  auto total = mtf::backend::make_buffer<double>(machine, 1);
  auto* const at = mtf::backend::data_of<float>(x);
  auto* const sum = mtf::backend::data_of<double>(total);
  for (int step = 0; step < 6; ++step) {
    mtf::backend::step<machine_type> const here(machine);
    double want = 0, found = -1;
    machine.run(mtf::primitives::fill<double>{sum, 1, 0.0});
    for (int i = 0; i < 150 + step % 2; ++i) {
      auto const value = static_cast<float>(step + i % 7);  // another argument in each step
      machine.run(mtf::primitives::fill<float>{at, n, value});
      auto const fresh = mtf::backend::make_buffer<float>(machine, n + 100 * step);  // from the system, at times
      machine.run(mtf::primitives::fill<float>{mtf::backend::data_of<float>(fresh), n + 100 * step, 9.0F});
      machine.run(mtf::primitives::square_sum<float>{n, sum, at});
      want += n * static_cast<double>(value) * static_cast<double>(value);
      if (i % 50 == 20) {
        machine.to_host(&found, sum, sizeof found);
        CHECK(found == want);
        machine.from_host(sum, &want, sizeof want);
      }
    }
    machine.to_host(&found, sum, sizeof found);
    CHECK(found == want);
  }
  CHECK((machine.graph_counts().launched > 0) == has_graphs);
  CHECK((machine.graph_counts().updated > 0) == has_graphs);
}

}  // namespace
