#pragma once
// Faults on purpose: a rank that throws where it should have sent something.
#include <exception>
#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include <mtf/backend/collective.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/threads.hpp>

/// What a rank throws, which is no user_error.
struct fault : std::runtime_error {
  fault(int rank, int event)
      : std::runtime_error("rank " + std::to_string(rank) + " fails at event " + std::to_string(event)) {}
};

/// A rank's collectives, of which one call throws a fault in place of being made: that of this number, counted from 0;
/// none of a negative one.
class faulty_collectives final : public mtf::collectives {
 public:
  faulty_collectives(mtf::collectives& of, int event) : collectives(of.mesh(), of.rank()), of_(&of), event_(event) {}

  void barrier() override {
    count();
    of_->barrier();
  }
  bool any(bool mine) override {
    count();
    return of_->any(mine);
  }

  [[nodiscard]] bool takes_device_memory() const override { return of_->takes_device_memory(); }
  bool on_stream(void* stream) override { return of_->on_stream(stream); }

 protected:
  void do_communicate(mtf::collective const& c, void const* in, void* out) override {
    count();
    of_->communicate(c, in, out);
  }
  handle do_start(mtf::collective const& c, void const* in, void* out) override {
    count();
    return of_->start(c, in, out);
  }

 private:
  void count() {
    if (event_ >= 0 && event_-- == 0) throw fault(rank(), made_);
    ++made_;
  }

  mtf::collectives* of_;
  int event_, made_ = 0;
};

/// Runs f(ranks) on all ranks of a mesh again and again: each of them fails at each of its events, one a run, until a
/// run has no such event any more. `before()` comes before each run, `left()` looks at what a fault left. That the
/// rank's fault ends all, and that no other rank has an error of its own, is checked here. Returns how many faults
/// there were.
template <class Before, class F, class Left>
int with_each_fault(mtf::rank_threads& pool, mtf::mesh_shape const& mesh, Before const& before, F const& f,
                    Left const& left) {
  int faults = 0;
  for (int rank = mesh.size(); rank-- > 0;)
    for (int event = 0;; ++event) {
      before();
      auto const ended = pool.try_run(mesh, [&](mtf::collectives& ranks) {
        faulty_collectives mine(ranks, ranks.rank() == rank ? event : -1);
        f(static_cast<mtf::collectives&>(mine));
      });
      if (ended.first < 0) break;
      ++faults;
      CAPTURE(rank);
      CAPTURE(event);
      CHECK(ended.first == rank);
      for (int r = 0; r < mesh.size(); ++r) {
        auto const& error = ended.errors[static_cast<std::size_t>(r)];
        CHECK((error != nullptr) == (r == rank));
        if (error != nullptr) CHECK_THROWS_WITH_AS(std::rethrow_exception(error), fault(rank, event).what(), fault);
      }
      left();
    }
  return faults;
}
