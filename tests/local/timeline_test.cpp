// Timelines: every second of a plan's price is drawn once, memory is the plan's, loops are what they stand for.
// devices: none
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/plan/record.hpp>
#include <mtf/plan/timeline.hpp>

#include "support/model_loss.hpp"

namespace {

using config = small_config;
constexpr int layers = config::layers::extent;
using loss_of = model_loss<config>;
constexpr auto parameters = loss_of::parameters;
constexpr auto tokens = loss_of::tokens;
using split = mtf::state_split_over<config::batch>;
constexpr auto overlapped = mtf::completed_gradients::overlapped;

mtf::plan_record recorded(std::string const& rules, bool recompute = false) {
  auto const layout = mtf::layout_from(mtf::mesh_from("data:2;model:2"), rules);
  return mtf::record_under<split, mtf::updated_by<mtf::adamw>>(
      overlapped, true,
      [recompute](auto const& p, auto const& ids, auto const& labels) {
        return loss_of::model::loss(p, ids, labels, {}, loss_of::model::recomputed_if(recompute));
      },
      std::span<mtf::layout_value const>(&layout, 1), parameters, tokens, tokens);
}

// Collectives so slow that some are waited for, and half of each hides.
mtf::machine_description machine_of(double latency, double overlap) {
  auto m = mtf::machines::h100_nodes();
  m.in_node = mtf::machine_description::links(latency, 1e9);
  m.overlap = overlap;
  return m;
}

constexpr std::array layouts{"", "batch:data", "batch:data;heads:model;d_ff:model;vocab:model", "sequence:model"};

}  // namespace

TEST_CASE("a record has the plan, and each event of it") {
  for (auto const* rules : layouts) {
    CAPTURE(rules);
    auto const r = recorded(rules);
    auto const layout = mtf::layout_from(mtf::mesh_from("data:2;model:2"), rules);
    auto const plan =
        mtf::plan_under<overlapped, split, mtf::updated_by<mtf::adamw>>(loss_of{}, layout, parameters, tokens, tokens);
    CHECK(mtf::describe(r.plan) == mtf::describe(plan));
    double flops = 0, bytes = 0;
    std::uint64_t times = 1, collectives = 0;
    for (auto const& e : r.events) {
      auto const n = static_cast<double>(times);
      if (e.what == mtf::planned_event::kind::loop_begins) times *= e.count;
      if (e.what == mtf::planned_event::kind::loop_ends) times /= e.count;
      if (e.what == mtf::planned_event::kind::work) flops += n * e.work.flops, bytes += n * e.work.bytes;
      if (e.what == mtf::planned_event::kind::collective) collectives += times;
    }
    CHECK(times == 1);
    CHECK(flops == doctest::Approx(plan.flops()));
    CHECK(bytes == doctest::Approx(plan.bytes_moved()));
    CHECK(collectives == plan.count());
  }
}

TEST_CASE("what was given: parameters with their paths, equal layers once, and inputs") {
  auto const r = recorded("batch:data;heads:model");
  auto const find = [&](std::string const& name) {
    for (auto const& t : r.given)
      if (t.name == name) return t;
    FAIL("no tensor " << name);
    return mtf::planned_tensor{};
  };
  auto const wq = find("blocks.*.wq");
  CHECK(wq.count == layers);
  CHECK(wq.element == 4);
  CHECK(wq.where.ndim == 3);
  CHECK(wq.where[1].split.mask() == 2);  // heads over model
  CHECK(find("token_embedding").count == 1);
  CHECK(r.given.back().name.empty());
  CHECK(r.given.back().where[0].split.mask() == 1);  // batch over data
}

TEST_CASE("memory over time has the plan's peak, where layers are computed again too") {
  for (auto const* rules : layouts)
    for (bool const recompute : {false, true}) {
      CAPTURE(rules);
      CAPTURE(recompute);
      auto const r = recorded(rules, recompute);
      std::uint64_t most = 0;
      for (auto const& m : mtf::timeline_of(r, mtf::machines::h100_nodes()).memory) most = std::max(most, m.bytes);
      CHECK(most == r.plan.peak_bytes);
    }
}

TEST_CASE("a timeline has the price's seconds, and ends when the last event does") {
  for (auto const& machine : {mtf::machines::h100_nodes(), machine_of(1e-7, 1), machine_of(1e-3, 1),
                              machine_of(1e-5, 0.5), machine_of(1e-5, 0)})
    for (auto const* rules : layouts) {
      CAPTURE(rules);
      CAPTURE(machine.overlap);
      auto const r = recorded(rules);
      auto const price = r.plan.price(machine);
      auto const t = mtf::timeline_of(r, machine);
      double products = 0, kernels = 0, collectives = 0, end = 0, busy = t.wait_end - t.wait_begin;
      for (auto const& i : t.items) {
        auto const& e = r.events[i.first];
        auto& sum = e.what == mtf::planned_event::kind::collective ? collectives
                    : e.work.bound == mtf::limit::matrix           ? products
                                                                   : kernels;
        sum += i.seconds;
        busy += i.beside ? 0 : i.seconds;
        end = std::max(end, i.end);
        CHECK(i.begin <= i.end);
        // As long as it takes; on the rank nothing interrupts it, beside it only what is sent in between.
        if (!i.beside || i.rounds > 1) CHECK(i.end - i.begin == doctest::Approx(i.seconds));
        if (i.beside) CHECK(i.end - i.begin >= i.seconds * (1 - 1e-9));
      }
      CHECK(products == doctest::Approx(price.products));
      CHECK(kernels == doctest::Approx(price.kernels));
      CHECK(collectives == doctest::Approx(price.collectives));
      CHECK(t.seconds == doctest::Approx(busy));
      CHECK(t.seconds == doctest::Approx(end));
      CHECK(t.seconds >= price.seconds() * (1 - 1e-12));
      if (machine.overlap == 0) CHECK(t.seconds == doctest::Approx(price.seconds()));
      REQUIRE(!t.loops.empty());
      for (auto const& l : t.loops) CHECK(l.rounds == layers - 3);
      for (std::size_t i = 1; i < t.items.size(); ++i)  // nothing is drawn over its like
        for (std::size_t k = i; k-- > 0;)
          if (t.items[k].beside == t.items[i].beside) {
            CHECK(t.items[k].end <= doctest::Approx(t.items[i].begin));
            break;
          }
    }
}
