// The training loop: what it logs, skips and stops at, on two ranks alike; that a run which goes on is the run that
// never stopped, to the bit. And the bytes of event files, against TensorBoard's own.
// links: checkpoint
// compilers: first
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <mtf/data.hpp>  // a run may read token files
#include <mtf/detail/train/event_bytes.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/threads.hpp>
#include <mtf/train/loop.hpp>
#include <mtf/train/run_history.hpp>

#include "loop_runs.hpp"
#include "support/faults.hpp"
#include "support/scratch.hpp"

namespace {

TEST_CASE("event files have TensorBoard's bytes") {
  // tensorboard 2.20: RecordWriter.write(event_pb2.Event(...).SerializeToString()) of the three events.
  std::string hex;
  for (char const c : mtf::detail::event_version(1.5) + mtf::detail::event_start(2.5, 301) +
                          mtf::detail::event_scalars(3.25, 1000000, {{"loss", 0.75}, {"learning_rate", -1e-3}})) {
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4U];
    hex += "0123456789abcdef"[static_cast<unsigned char>(c) & 15U];
  }
  CHECK(hex ==
        "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c100000000000000095fbfe18090000"
        "000"
        "00000044010ad023a0208019daf86af3200000000000000241956ec090000000000000a4010c0843d2a230a0b0a046c6f7373150000403"
        "f0a"
        "140a0d6c6561726e696e675f72617465156f1283ba7154410d");
}

TEST_CASE("a spike lies far above the losses before") {
  mtf::loss_watch watch({.window = 5, .deviations = 8});
  for (double const x : {2.0, 2.1, 1.9, 2.0}) {
    watch.add(x);
    CHECK(std::isinf(watch.limit()));
  }
  watch.add(50);  // one outlier moves neither median
  CHECK(watch.limit() == doctest::Approx(2.0 + 8 * 1.4826 * 0.1));
  mtf::loss_watch other({.window = 5, .deviations = 8});
  other.restore(watch.text());
  CHECK(other.limit() == watch.limit());
  other.add(2.05);  // the oldest goes: 2.1, 1.9, 2.0, 50, 2.05
  CHECK(other.limit() == doctest::Approx(2.05 + 8 * 1.4826 * 0.05));
}

TEST_CASE("the limit of a spike has a floor: losses that hardly move are no reason") {
  for (double const middle : {3.0, -3.0}) {
    mtf::loss_watch watch({.window = 5, .deviations = 8});
    for (int i = 0; i < 5; ++i) watch.add(middle);
    CHECK(watch.limit() == doctest::Approx(middle + 8 * 3e-3));  // a thousandth of the median
    for (int i = 0; i < 5; ++i) watch.add(middle + i % 2 * 1e-9);
    CHECK(watch.limit() == doctest::Approx(middle + 8 * 3e-3));
  }
}

TEST_CASE("a curve of many steps keeps its means and extremes in few points") {
  mtf::run_curve curve;
  std::int64_t const steps = 100'003;
  double sum = 0;
  for (std::int64_t s = 1; s <= steps; ++s) {
    double const y = s == 77'777 ? 1e6 : s == 50'001 ? -1e6 : static_cast<double>(s % 10);
    sum += y;
    curve.add(s, y);
  }
  curve.add(steps + 1, std::numeric_limits<double>::quiet_NaN());
  CHECK(curve.points().size() <= mtf::run_curve::most);
  CHECK(curve.points().size() > mtf::run_curve::most / 2 - 2);
  double total = 0, least = 0, largest = 0;
  std::int64_t count = 0;
  for (auto const& p : curve.points()) {
    total += p.mean * static_cast<double>(p.steps);
    count += p.steps;
    CHECK(p.step == count);
    least = std::min(least, p.least);
    largest = std::max(largest, p.largest);
  }
  CHECK(count == steps);
  CHECK(total == doctest::Approx(sum));
  CHECK((least == -1e6 && largest == 1e6));
}

TEST_CASE("a run that goes on is the one that never stopped; it skips the same spike") {
  scratch const at;
  // The spike comes after the resume, and is seen only if the losses before are known.
  auto const spike = [](int n) { return n == 13 ? 100.0F : 1.0F; };
  auto const options = [&](char const* name, int steps) {
    mtf::loop_options o{.steps = steps, .evaluate = [] { return 0.0; }, .evaluate_every = 5};
    o.log = at.of(name + std::string(".jsonl"));
    o.checkpoints.directory = at.of(name);
    o.checkpoint_every = 4;
    o.resume = true;
    o.spike = {.window = 8, .deviations = 50};
    o.on_spike = mtf::on_trouble::skip;
    return o;
  };
  auto const whole = train(options("whole", 20), spike);
  CHECK(whole.code == 0);
  auto o = options("parts", 20);
  o.steps = 12;
  CHECK(train(o, spike).code == 0);
  // As if it had been killed after a step that no checkpoint has.
  std::ofstream(o.log, std::ios::app) << R"({"step":13,"loss":0.5})" << "\n";
  o.steps = 20;
  auto const parts = train(o, spike);
  CHECK(parts.w == whole.w);
  auto const a = lines_of(at.of("whole.jsonl")), b = lines_of(at.of("parts.jsonl"));
  REQUIRE((a.size() == 20 && b.size() == 20));
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i]["step"] == i + 1);
    for (char const* name : {"step", "loss", "gradient_norm", "remark"})
      CHECK(a[i].value(name, nlohmann::json()) == b[i].value(name, nlohmann::json()));
    CHECK(a[i].contains("remark") == (i == 13));
  }
  CHECK(a[13]["remark"] == "spike, skipped");
  CHECK(a[13]["loss"] > 100 * a[12]["loss"].get<double>());
  CHECK(whole.evaluations.size() == 5);

  o.same["seed"] = "2";
  CHECK(train(o, spike).error == at.of("parts/step-00000020") + " was written with another seed: unknown, now 2");
  o.resume = false;
  CHECK(train(o, spike).error ==
        at.of("parts/step-00000020") + " is there: resume goes on from it; another directory begins anew");
}

TEST_CASE("steps that are skipped change nothing") {
  mtf::loop_options o{.steps = 6};
  auto const six = train(o, always_one);
  o.steps = 7;
  o.on_not_finite = mtf::on_trouble::skip;
  // Of seven steps the last has examples that overflow.
  CHECK(train(o, [](int n) { return n == 6 ? 1e30F : 1.0F; }).w == six.w);
  o.spike = {.window = 3, .deviations = 50};
  o.on_spike = mtf::on_trouble::skip;
  CHECK(train(o, [](int n) { return n == 6 ? 100.0F : 1.0F; }).w == six.w);
  o.on_spike = mtf::on_trouble::go_on;
  CHECK(train(o, [](int n) { return n == 6 ? 100.0F : 1.0F; }).w != six.w);
}

TEST_CASE("a run that goes on knows how many steps in a row were skipped") {
  scratch const at;
  auto const overflow = [](int n) { return n >= 5 ? 1e30F : 1.0F; };
  mtf::loop_options o{.steps = 7};
  o.checkpoints.directory = at.of("checkpoints");
  o.resume = true;
  o.on_not_finite = mtf::on_trouble::skip;
  o.most_skips = 3;
  CHECK(train(o, overflow).code == 0);  // steps 6 and 7 were skipped
  o.steps = 20;
  CHECK(has(train(o, overflow).error, "step 9: more than 3 steps in a row were skipped"));
}

/// Two optimizers, whose states have names of their own, or not.
template <bool Named>
struct two_optimizers {
  mtf::adamw<parameters> first, second;

  two_optimizers(backend& machine, mtf::adamw_options const& o) : first(machine, o), second(machine, o) {}
  double update(backend& machine, parameters& p, auto const& gradients, double rate) {
    first.update(machine, p, gradients, rate);
    return second.update(machine, p, gradients, rate / 2);
  }
  template <class F>
  void visit_state(F&& f) {
    auto const named = [&](char const* name) {
      return [&f, name](std::string_view suffix, auto& s) { f((Named ? name : "") + std::string(suffix), s); };
    };
    first.visit_state(named("first."));
    second.visit_state(named("second."));
  }
};

TEST_CASE("two optimizers in one loop: names of their own, or the constructor says so") {
  scratch const at;
  mtf::loop_options o{.steps = 6, .checkpoint_every = 3};
  auto const whole = train<two_optimizers<false>>(o, always_one);  // without checkpoints names are of no use
  CHECK(whole.code == 0);
  o.checkpoints.directory = at.of("checkpoints");
  o.resume = true;
  std::atomic<int> steps = 0;
  auto const counted = [&](int) {
    ++steps;
    return 1.0F;
  };
  CHECK(
      has(train<two_optimizers<false>>(o, counted).error,
          "a checkpoint cannot have two tensors of one name, w.exp_avg (in optimizer): give structures fields of other "
          "names, and each of several optimizers suffixes of its own in visit_state"));
  CHECK(steps == 0);
  o.steps = 3;
  CHECK(train<two_optimizers<true>>(o, always_one).code == 0);
  auto const manifest = nlohmann::json::parse(bytes_of(at.of("checkpoints/step-00000003/manifest.json")));
  CHECK(manifest["files"][1]["arrays"].contains("w.second.exp_avg"));
  o.steps = 6;
  CHECK(train<two_optimizers<true>>(o, always_one).w == whole.w);
}

/// What is not complete in a directory of checkpoints.
std::vector<std::string> incomplete_in(std::string const& path) {
  std::vector<std::string> names;
  if (fs::exists(path))
    for (auto const& e : fs::directory_iterator(path))
      if (!fs::exists(e.path() / "manifest.json")) names.push_back(e.path().filename().string());
  return names;
}

TEST_CASE("an evaluation that throws leaves no checkpoint half written") {
  scratch const at;
  mtf::loop_options o{.steps = 6, .evaluate_every = 3, .checkpoint_every = 2};
  o.checkpoints.directory = at.of("checkpoints");
  std::atomic<int> calls = 0;
  o.evaluate = [&]() -> double {
    if (++calls > 2) throw std::runtime_error("no data");  // step 2's checkpoint is on its way
    return 0;
  };
  CHECK_THROWS_WITH_AS(train(o, always_one), "no data", std::runtime_error);
  CHECK(incomplete_in(at.of("checkpoints")).empty());
}

TEST_CASE("whatever message fails on whatever rank, a run goes on as if none had") {
  scratch const at;
  mtf::loop_options o{.steps = 4, .evaluate = [] { return 0.0; }, .evaluate_every = 3, .checkpoint_every = 2};
  auto const whole = train(o, always_one);
  o.checkpoints.directory = at.of("checkpoints");
  o.resume = true;
  mtf::rank_threads pool(2);
  int const faults = with_each_fault(
      pool, where::mesh_type::shape(), [&] { fs::remove_all(at.of("checkpoints")); },
      [&](mtf::collectives& ranks) { train_on(ranks, o, always_one); },
      [&] {
        CHECK(incomplete_in(at.of("checkpoints")).empty());
        CHECK(train(o, always_one).w == whole.w);
      });
  CHECK(faults > 40);
}

TEST_CASE("what stops a run says where") {
  mtf::loop_options o{.steps = 30};
  auto const overflow = [](int n) { return n >= 5 ? 1e30F : 1.0F; };
  CHECK(train(o, overflow)
            .error.find("step 6: the loss is infinite, training stops; the first operation whose result is "
                        "not finite: square forward [batch/data, out]") == 0);
  o.on_not_finite = mtf::on_trouble::skip;
  o.most_skips = 3;
  CHECK(train(o, overflow).error ==
        "step 9: more than 3 steps in a row were skipped (not finite, skipped), training stops; "
        "a lower learning rate may help");
  o.spike = {.window = 3, .deviations = 50};
  o.on_spike = mtf::on_trouble::stop;
  auto const stopped = train(o, [](int n) { return n == 5 ? 100.0F : 1.0F; }).error;
  CHECK_MESSAGE(stopped.find("step 6: the loss jumped to ") == 0, stopped);
  o.evaluate = [] { return 0.0; };
  CHECK(train(o, [](int n) { return n == 1000 ? 1e30F : 1.0F; }).error.find("step 0: the validation is infinite") == 0);
  CHECK_THROWS_AS(train({.steps = 1, .sends = std::vector<mtf::collectives::event>{}}, always_one), std::logic_error);
}

TEST_CASE("a report has each step, what went wrong, and where the time went") {
  scratch const at;
  mtf::loop_options o{.steps = 15, .evaluate = [] { return 0.0; }, .evaluate_every = 5, .evaluation_unit = "bits/byte"};
  o.log = at.of("log.jsonl");
  o.tensorboard = at.of("events");
  o.report = at.of("run.html");
  o.page = [](std::string const& json) { return "<page>" + json; };
  o.about.title = "<script>";
  o.on_not_finite = mtf::on_trouble::skip;
  auto const e = train(o, [](int n) { return n == 2 ? 1e30F : 1.0F; });
  auto const page = bytes_of(o.report);
  REQUIRE(page.starts_with("<page>"));
  auto const j = nlohmann::json::parse(page.substr(6));
  CHECK(j["title"] == "<script>");
  CHECK(j["state"] == "finished");
  CHECK(j["curves"]["loss"].size() == 14);  // the loss of step 3 is no number
  CHECK(j["remarks"] == nlohmann::json::parse(R"([[3, "not finite, skipped"]])"));
  auto const& validation = j["curves"]["validation_bits_per_byte"];
  REQUIRE(validation.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(validation[i][0] == 5 * i);
    CHECK(validation[i][1] == e.evaluations[i].second);
  }
  CHECK(j["profile"]["steps"] == 10);
  CHECK(j["profile"]["rows"].size() > 3);
  CHECK(lines_of(o.log)[2]["loss"].is_null());
  std::size_t files = 0;
  for (auto const& file : fs::directory_iterator(o.tensorboard)) {
    ++files;
    CHECK(bytes_of(file.path()).find("validation_bits_per_byte") != std::string::npos);
  }
  CHECK(files == 1);
  o.page = nullptr;
  CHECK(train(o, always_one).error == "a report needs a page: loop_options::page is empty");
}

TEST_CASE("a run whose evaluations get no better ends early, and says so") {
  scratch const at;
  std::atomic<int> improved = 0;
  mtf::loop_options o{.steps = 100, .evaluate_every = 5, .patience = 2};
  o.evaluate = [] {
    thread_local double worse = 0;  // alike on all ranks
    return worse += 1000;
  };
  o.improved = [&] { ++improved; };
  o.report = at.of("run.html");
  o.page = [](std::string const& json) { return json; };
  auto const early = train(o, always_one);
  CHECK(early.code == 0);
  REQUIRE(early.evaluations.size() == 3);
  CHECK(early.evaluations.back().first == 10);
  CHECK(improved == 2);  // the first, on two ranks
  auto const page = nlohmann::json::parse(bytes_of(o.report));
  CHECK(page["state"] == "stopped early");
  CHECK(page["step"] == 10);
  // It is the run that should have had so many steps.
  o.steps = 10;
  o.patience = 0;
  auto const whole = train(o, always_one);
  CHECK(whole.w == early.w);
  CHECK(nlohmann::json::parse(bytes_of(o.report))["state"] == "finished");
}

TEST_CASE("a signal ends a run that can go on") {
  scratch const at;
  mtf::loop_options o{.steps = 9};
  auto const whole = train(o, always_one);
  o.checkpoints.directory = at.of("checkpoints");
  o.resume = true;
  auto const stopped = train(o, [](int n) {
    if (n == 3) std::raise(SIGTERM);
    return 1.0F;
  });
  CHECK(stopped.code == mtf::run_stopped);
  CHECK(fs::exists(at.of("checkpoints/step-00000004/manifest.json")));
  mtf::detail::stop_signal_came = 0;
  CHECK(train(o, always_one).w == whole.w);
}

TEST_CASE("a run goes on without a checkpoint that cannot be written, and does not end well without its last one") {
  scratch const at;
  mtf::loop_options o{.steps = 7, .checkpoint_every = 3};
  auto const written = [&](int step) {
    return fs::exists(at.of("checkpoints/step-0000000" + std::to_string(step) + "/manifest.json"));
  };
  // A directory of that name which is no checkpoint is not replaced.
  auto const begin = [&](std::vector<int> const& blocked) {
    fs::remove_all(at.of("checkpoints"));
    for (int const step : blocked) {
      auto const name = at.of("checkpoints/step-0000000" + std::to_string(step));
      fs::create_directories(name);
      std::ofstream(name + "/notes.txt") << "mine";
    }
  };
  o.checkpoints.directory = at.of("checkpoints");
  begin({3});
  CHECK(has(train(o, always_one).error, "step-00000003 is there, and is no checkpoint that could be replaced"));
  o.on_failed_checkpoint = mtf::on_trouble::go_on;
  auto const whole = train(o, always_one);
  CHECK(whole.code == 0);
  CHECK((!written(3) && written(6) && written(7)));
  CHECK(whole.w == train({.steps = 7}, always_one).w);

  begin({7});
  CHECK(train(o, always_one).error == "finished with step 7, but its checkpoint was not written; the newest is " +
                                          at.of("checkpoints/step-00000006") + ": resume goes on from it");
  begin({3, 6, 7});
  CHECK(train(o, always_one).error == "finished with step 7, but its checkpoint was not written; there is no other");
  begin({4});
  auto const stopped = train(o, [](int n) {
    if (n == 3) std::raise(SIGUSR1);
    return 1.0F;
  });
  mtf::detail::stop_signal_came = 0;
  CHECK(stopped.code == -1);
  CHECK(stopped.error == "stopped by a signal after step 4, but its checkpoint was not written; the newest is " +
                             at.of("checkpoints/step-00000003") + ": resume goes on from it");
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
