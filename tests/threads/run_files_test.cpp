// What a run writes destroys nothing, and what it goes on with is what it had: whatever paths it is told, whatever
// became of its files.
// links: checkpoint
// compilers: first
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "loop_runs.hpp"
#include "support/scratch.hpp"

namespace {

mtf::loop_options written_to(std::string const& log, std::string const& report) {
  mtf::loop_options o{.steps = 2, .log = log, .report = report};
  o.page = [](std::string const& json) { return json; };
  return o;
}

TEST_CASE("nothing that is written is read, or written twice") {
  scratch const at;
  auto const input = at.of("input"), other = at.of("other"), soft = at.of("soft"), hard = at.of("hard"),
             dangling = at.of("dangling");
  write_bytes(input, "data");
  write_bytes(other, "of another program");
  fs::create_symlink(input, soft);
  fs::create_hard_link(input, hard);
  fs::create_symlink(at.of("fresh"), dangling);
  fs::create_directory(at.of("d"));
  auto const same = [&](std::string const& log, std::string const& report, std::string const& what) {
    CAPTURE(log);
    CAPTURE(report);
    auto o = written_to(log, report);
    o.reads = {other, input};
    auto const said = train(o, always_one).error;
    CHECK_MESSAGE(has(said, what), said);
    CHECK(bytes_of(input) == "data");
    CHECK(bytes_of(other) == "of another program");
  };
  for (auto const& path : {input, soft, hard, at.of("d/../input"), at.path + "//input"}) {
    same(path, "", "the log " + path + " is the file that the input " + input + " is read from");
    same("", path, "the report " + path + " is the file that the input " + input + " is read from");
    same(at.of("a log"), path, "the report " + path + " is the file that the input " + input + " is read from");
  }
  auto const fresh = at.of("fresh");
  for (auto const& path : {fresh, dangling, at.of("d/../fresh")})
    same(fresh, path, "the report " + path + " is the file that the log " + fresh + " is written to");
  CHECK_FALSE(fs::exists(fresh));
  CHECK(train(written_to(fresh, at.of("report")), always_one).code == 0);
  same(fresh, fresh, "the report " + fresh + " is the file that the log " + fresh + " is written to");
  CHECK(train(written_to("/dev/null", "/dev/null"), always_one).code == 0);
}

/// Six steps with checkpoints after each second; a log.
mtf::loop_options run_in(scratch const& at) {
  mtf::loop_options o{.steps = 6, .log = at.of("log"), .checkpoint_every = 2};
  o.checkpoints.directory = at.of("checkpoints");
  o.resume = true;
  return o;
}

TEST_CASE("a run that goes on where its checkpoints are not is an error, and its log stays") {
  scratch const at;
  auto o = run_in(at);
  CHECK(train(o, always_one).code == 0);
  auto const log = bytes_of(o.log);
  fs::rename(at.of("checkpoints"), at.of("elsewhere"));
  CHECK(has(train(o, always_one).error, "the log " + o.log + " has steps until 6, but " + at.of("checkpoints") +
                                            " has no checkpoint to go on from"));
  CHECK(bytes_of(o.log) == log);
  fs::remove(at.of("checkpoints"));
  fs::rename(at.of("elsewhere"), at.of("checkpoints"));
  o.steps = 7;
  CHECK(train(o, always_one).code == 0);
  CHECK(lines_of(o.log).size() == 7);
  // Killed before its first checkpoint was complete, a run begins anew.
  write_bytes(at.of("killed log"), "{\"step\":4,\"loss\":1.5}\n");
  o.checkpoints.directory = at.of("killed");
  o.log = at.of("killed log");
  CHECK(train(o, always_one).code == 0);
  CHECK(lines_of(o.log).size() == 7);
  o.log = at.of("new log");  // a new run begins where nothing was done
  o.checkpoints.directory = at.of("new");
  CHECK(train(o, always_one).code == 0);
}

TEST_CASE("where the newest checkpoint is damaged, the newest whole one is named") {
  scratch const at;
  auto o = run_in(at);
  o.checkpoints.keep = 0;
  auto const whole = train(o, always_one);
  CHECK(whole.code == 0);
  auto const step = [&](int n) { return at.of("checkpoints/step-0000000" + std::to_string(n)); };
  auto const damage = [&](int n) {
    auto bytes = bytes_of(step(n) + "/model.safetensors");
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    write_bytes(step(n) + "/model.safetensors", bytes);
  };
  damage(6);
  auto said = train(o, always_one).error;
  CHECK(has(said, step(6)));
  CHECK(has(said, "; " + step(4) + " is whole: move " + step(6) + " away, and resume goes on from there"));
  damage(4);
  said = train(o, always_one).error;
  CHECK(has(said, "; " + step(2) + " is whole: move " + step(6) + " away"));
  for (int const n : {6, 4}) fs::rename(step(n), at.of("damaged-" + std::to_string(n)));
  CHECK(train(o, always_one).w == whole.w);
  for (int const n : {2, 4, 6}) damage(n);
  said = train(o, always_one).error;
  CHECK(has(said, step(6)));
  CHECK_FALSE(has(said, "is whole"));
}

TEST_CASE("a checkpoint is its manifest's step's, whatever its directory is called") {
  scratch const at;
  auto o = run_in(at);
  CHECK(train(o, always_one).code == 0);
  for (std::string const name : {"step-00000099", "step-2147483648", "step-99999999999"}) {
    auto const renamed = at.of("checkpoints/" + name);
    fs::rename(at.of("checkpoints/step-00000006"), renamed);
    CHECK(has(train(o, always_one).error, renamed + " is the checkpoint of step 6, as its manifest says"));
    fs::rename(renamed, at.of("checkpoints/step-00000006"));
  }
  o.steps = 7;
  CHECK(train(o, always_one).code == 0);
}

TEST_CASE("a log that cannot be rewritten is an error, and stays as it is") {
  scratch const at;
  auto o = run_in(at);
  CHECK(train(o, always_one).code == 0);
  auto const log = bytes_of(o.log);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  auto none = before;
  none.rlim_cur = 0;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  o.steps = 8;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  auto const said = train(o, always_one).error;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK_MESSAGE(has(said, "the log " + o.log + " cannot be written: File too large"), said);
  CHECK(bytes_of(o.log) == log);
  CHECK(train(o, always_one).code == 0);
  CHECK(lines_of(o.log).size() == 8);
}

TEST_CASE("a signal before the first step ends a run that can begin, or go on") {
  scratch const at;
  auto o = run_in(at);
  mtf::detail::stop_signal_came = 1;
  CHECK(train(o, always_one).code == mtf::run_stopped);
  CHECK(lines_of(o.log).empty());
  mtf::detail::stop_signal_came = 0;
  CHECK(train(o, always_one).code == 0);
  o.steps = 9;
  mtf::detail::stop_signal_came = 1;
  CHECK(train(o, always_one).code == mtf::run_stopped);
  CHECK(lines_of(o.log).size() == 6);
  mtf::detail::stop_signal_came = 0;
  CHECK(train(o, always_one).code == 0);
  CHECK(lines_of(o.log).size() == 9);
}

/// What f prints.
template <class F>
std::string printed_by(std::string const& file, F const& f) {
  std::fflush(stdout);
  int const kept = ::dup(STDOUT_FILENO);
  REQUIRE(std::freopen(file.c_str(), "w", stdout) != nullptr);
  f();
  std::fflush(stdout);
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  return bytes_of(file);
}

TEST_CASE("another number of steps than the run had is said") {
  scratch const at;
  auto o = run_in(at);
  auto const says = [&] { return printed_by(at.of("printed"), [&] { CHECK(train(o, always_one).code == 0); }); };
  CHECK_FALSE(has(says(), "that one had"));
  o.steps = 8;
  CHECK(has(says(),
            "this run has 8 steps, that one had 6: a learning rate that depends on their number does not go on "
            "from where it was, the next is 0.02"));
  CHECK_FALSE(has(says(), "that one had"));
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
