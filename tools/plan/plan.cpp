#include "planner.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <mtf/checkpoint/distinct_files.hpp>
#include <mtf/plan/describe.hpp>
#include <mtf/plan/machine_json.hpp>
#include <mtf/plan/plan_json.hpp>
#include <mtf/train/text_output.hpp>

#include "../choose.hpp"
#include "../model_on_line.hpp"
#include "../page/page.hpp"
#include "../size_options.hpp"
#include "../step_options.hpp"
#include "../text_of.hpp"

namespace mtf::tools {
namespace {

/// The command line: layouts to be laid side by side.
struct question {
  // One for all layouts, or one for each.
  std::vector<std::string> meshes, layouts{""}, upper_layouts, states{"split"}, gradients{"overlapped"};
  std::string program, train, machine = "h100", json, html;
  step_options model;  // its sizes
  // Or the best layouts are to be found.
  std::string choose, pinned;
  std::vector<std::string> whole;
  int ranks = 0;
  std::size_t wanted = 3;
  double memory = 0;  // GB
  bool two_layouts = false;
};

/// What a step takes under it.
struct answer {
  step_options asked;
  mtf::plan_record record;
  mtf::step_price price;
};

char const* state_of(step_options const& o) { return o.state_is_split ? "split" : "whole"; }
char const* gradients_of(step_options const& o) { return o.gradients_overlap ? "overlapped" : "later"; }
std::string name_of(step_options const& o) {
  return "mesh \"" + o.mesh + "\", layout \"" + o.layout + "\"" +
         (o.upper_layout ? ", upper half \"" + *o.upper_layout + "\"" : "") + ", state " + state_of(o) +
         ", gradients " + gradients_of(o);
}

/// Each layout with what is said of it.
std::vector<step_options> layouts_asked(question const& q) {
  auto const given = [&](char const* flag, std::vector<std::string> const& values) {
    if (values.size() > 1 && values.size() != q.layouts.size())
      throw mtf::user_error(std::string(flag) + ": expected one for all layouts or one for each of the " +
                            std::to_string(q.layouts.size()) + " layouts, found " + std::to_string(values.size()));
  };
  given("--mesh", q.meshes);
  given("--upper-layout", q.upper_layouts);
  given("--state", q.states);
  given("--gradients", q.gradients);
  std::vector<step_options> all;
  for (std::size_t i = 0; i < q.layouts.size(); ++i) {
    auto const of_this = [i](std::vector<std::string> const& values) { return values[values.size() == 1 ? 0 : i]; };
    auto o = q.model;
    o.mesh = of_this(q.meshes);
    o.layout = q.layouts[i];
    if (!q.upper_layouts.empty()) o.upper_layout = of_this(q.upper_layouts);
    o.state_is_split = of_this(q.states) == "split";
    o.gradients_overlap = of_this(q.gradients) == "overlapped";
    all.push_back(o);
  }
  return all;
}

/// A whole training step, AdamW included.
answer answer_to(planner const& of, step_options const& asked, mtf::machine_description const& machine) try {
  answer a{asked, of.record(asked), {}};
  a.price = a.record.plan.price(machine);
  return a;
} catch (mtf::user_error const& e) {
  throw mtf::user_error("mesh \"" + asked.mesh + "\", layout \"" + asked.layout + "\": " + e.what());
}

std::string describe(answer const& a, mtf::machine_description const& machine) {
  auto const& p = a.price;
  auto text = name_of(a.asked) + "\n" + mtf::describe(a.record.plan) +
              text_of(
                  "a step takes %.4g ms on %s: %.4g ms in products, %.4g ms in other kernels, %.4g ms in collectives, "
                  "of which %.4g ms hide behind the backward pass\n",
                  1e3 * p.seconds(), std::string(machine.name.view()).c_str(), 1e3 * p.products, 1e3 * p.kernels,
                  1e3 * p.collectives, 1e3 * p.hidden);
  if (a.record.plan.peak_bytes > machine.memory)
    text += text_of("it does not fit: a rank has %.4g GB\n", static_cast<double>(machine.memory) / 1e9);
  return text;
}

/// A line for each layout.
std::string table_of(std::vector<answer> const& all) {
  auto text = std::to_string(all.size()) + " layouts by seconds and bytes:\n" +
              text_of("%11s %11s %11s %11s %11s %11s %11s  %s\n", "step ms", "products", "kernels", "collectives",
                      "hidden", "sent MB", "memory MB", "under");
  for (auto const& a : all)
    text += text_of("%11.4g %11.4g %11.4g %11.4g %11.4g %11.4g %11.4g  ", 1e3 * a.price.seconds(),
                    1e3 * a.price.products, 1e3 * a.price.kernels, 1e3 * a.price.collectives, 1e3 * a.price.hidden,
                    static_cast<double>(a.record.plan.bytes_sent_per_rank()) / 1e6,
                    static_cast<double>(a.record.plan.peak_bytes) / 1e6) +
            name_of(a.asked) + "\n";
  return text;
}

/// The command lines that plan a step and, where there is a program for that, run it.
std::string commands_for(step_options const& o, question const& q) {
  auto const under = " --mesh " + shell_word(o.mesh) + " --layout " + shell_word(o.layout) +
                     (o.upper_layout ? " --upper-layout " + shell_word(*o.upper_layout) : "") + " --state " +
                     state_of(o) + " --gradients " + gradients_of(o) + o.size_flags;
  auto text = "  " + shell_word(q.program) + under + " --machine " + shell_word(q.machine) + "\n";
  if (!q.train.empty()) {
    std::filesystem::path const program(q.program);
    std::string const installed = program.filename().string().starts_with("mtf-") ? "mtf-" : "";
    auto const train = std::filesystem::path(program).replace_filename(installed + q.train);
    text += "  mpirun -n " + std::to_string(mtf::mesh_from(o.mesh).shape.size()) + " " + shell_word(train.string()) +
            under + " --data some-text\n";
  }
  return text;
}

/// The best layouts, and how they were found.
mtf::searched_layouts search(planner const& of, question const& q, mtf::machine_description const& machine) {
  if (q.meshes.empty() == (q.ranks == 0))
    throw mtf::user_error("--choose: expected --ranks for all meshes of so many ranks, or one --mesh");
  if (q.meshes.size() > 1)
    throw mtf::user_error("--choose: expected one --mesh, found " + std::to_string(q.meshes.size()));
  step_options o;
  if (!q.meshes.empty()) o.mesh = q.meshes.front();
  auto among = search_among(o, q.choose, q.ranks, of.layouts, q.two_layouts);
  among.whole = q.whole;
  if (!q.pinned.empty()) {
    if (!among.mesh) throw mtf::user_error("--pin names axes: expected their --mesh");
    auto const pinned = mtf::layout_from(*among.mesh, q.pinned);
    for (auto const& rule : pinned.rules)
      if (rule.axes.size > 0 && std::find(q.whole.begin(), q.whole.end(), rule.name.view()) != q.whole.end())
        throw mtf::user_error("--pin splits " + std::string(rule.name.view()) +
                              ", which --whole keeps whole: expected one of the two");
    among.pinned = {pinned};
  }
  if (q.memory > 0) among.memory = static_cast<std::uint64_t>(std::min(q.memory * 1e9, 1e18));
  among.wanted = q.wanted;
  return of.search(machine, among, q.model.extents);
}

std::string describe(mtf::searched_layouts const& found, question const& q) {
  auto const count = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
  auto text = text_of("%zu layout%s of the least %s on %s:\n%11s %11s %11s  %s\n", found.best.size(),
                      found.best.size() == 1 ? "" : "s", q.choose.c_str(), q.machine.c_str(), "step ms", "sent MB",
                      "memory MB", "under");
  for (auto const& f : found.best) {
    auto const o = options_of(f, q.two_layouts, q.model);
    text += text_of("%11.4g %11.4g %11.4g  ", 1e3 * f.seconds, static_cast<double>(f.bytes_sent) / 1e6,
                    static_cast<double>(f.memory) / 1e6) +
            name_of(o) + "\n" + commands_for(o, q);
  }
  text += text_of(
      "searched: %llu layouts on %llu mesh%s; %llu tried in %llu plans (and %llu on one axis, for bounds); %llu are "
      "bounded: no plan of them can be better; %llu are the same as others\n",
      count(found.layouts), count(found.meshes), found.meshes == 1 ? "" : "es", count(found.tried), count(found.priced),
      count(found.on_one_axis), count(found.bounded), count(found.elsewhere));
  if (found.parameters_too_large > 0)
    text += text_of("layouts whose parameters alone need more memory: %llu\n", count(found.parameters_too_large));
  if (found.too_large > 0) text += text_of("plans that need more memory: %llu\n", count(found.too_large));
  for (auto const& [why, n] : found.refused) text += text_of("refused %llu: ", count(n)) + why + "\n";
  return text;
}

/// Why a search found nothing, as a user_error.
[[noreturn]] void tell_why_none(planner const& of, mtf::searched_layouts const& found, question const& q,
                                mtf::machine_description const& machine) {
  if (!q.pinned.empty()) {  // if these are wrong, in the compiler's words
    auto o = q.model;
    o.mesh = q.meshes.front();
    o.layout = q.pinned;
    answer_to(of, o, machine);
  }
  auto const has = static_cast<double>(machine.memory);
  found_none(found, q.memory > 0 ? std::min(1e9 * q.memory, has) : has);
}

/// What the files have: all answers, the machine, the model.
nlohmann::json json_of(question const& q, std::vector<answer> const& all, mtf::machine_description const& machine) {
  nlohmann::json j{
      {"model", text_of(q.model.sizes)}, {"machine", mtf::json_of(machine)}, {"layouts", nlohmann::json::array()}};
  for (auto const& a : all) {
    auto one = mtf::json_of(a.record, machine);
    one["layout"] = a.asked.layout;
    one["upper_layout"] = a.asked.upper_layout.value_or("");
    one["state"] = state_of(a.asked);
    one["gradients"] = gradients_of(a.asked);
    j["layouts"].push_back(std::move(one));
  }
  return j;
}

void write(char const* flag, std::string const& path, std::string const& text) {
  if (path.empty()) return;
  mtf::text_output file;
  file.open(flag, path, "w");
  file.write(text);
  file.close();
  if (!file.failure().empty()) throw mtf::user_error(file.failure());
}

/// Help or an answer for the screen; what is wrong is a user_error.
std::string run(int argc, char** argv, std::vector<planner> const& models, std::string const& train) {
  std::vector<sizes_of_task> all_sizes;
  all_sizes.reserve(models.size());
  for (auto const& model : models) all_sizes.push_back(model.sizes);
  auto const which = model_asked_for(argc, argv, all_sizes);
  if (which.wrong) throw mtf::user_error(*which.wrong);
  auto const& of = models[which.number];
  question q;
  q.train = train;
  q.program = argv[0];
  CLI::App app{
      "Says what a training step of a model sends, computes and takes, before anything runs.\n"
      "Several layouts are laid side by side: repeat --layout, with one --mesh for all or one for each."};
  auto const several = [&](char const* flag, std::vector<std::string>& to, char const* what) {
    return app.add_option(flag, to, what)->allow_extra_args(false);
  };
  several("--mesh", q.meshes, "the machine's axes with their ranks, such as \"data:2;model:2\"");
  auto* const layout =
      several("--layout", q.layouts, "which dimensions are split over which axes, such as \"batch:data;heads:model\"");
  CLI::Option* const upper = of.layouts < 2 ? nullptr
                                            : several("--upper-layout", q.upper_layouts,
                                                      "the same for the upper half of the layers, if it is another");
  auto* const state = several("--state", q.states,
                              "the optimizer's state: split over the ranks that hold the same parameters, or whole")
                          ->check(CLI::IsMember({"split", "whole"}))
                          ->default_str("split");
  auto* const gradients =
      several("--gradients", q.gradients, "completed while the backward pass goes on (overlapped), or after it (later)")
          ->check(CLI::IsMember({"overlapped", "later"}))
          ->default_str("overlapped");
  app.add_option("--machine", q.machine,
                 "what the ranks are: h100 (nodes of eight), tpu-v2 (a pod), or a JSON file of benchmark-machine")
      ->capture_default_str();
  CLI::Validator const is_path(
      [](std::string& path) {
        return path.empty() || path.starts_with("--") ? "a path was expected, found \"" + path + "\"" : "";
      },
      "", "path");
  app.add_option("--json", q.json, "write plans, prices and timelines into this file")->check(is_path);
  app.add_option("--html", q.html, "draw the same as a page in this file, for any browser, without a network")
      ->check(is_path);
  constexpr int most_ranks = 1 << 20;  // more than any machine has
  CLI::Validator const positive(
      [](std::string const& text) {
        double x = 0;
        return CLI::detail::lexical_cast(text, x) && x > 0 && std::isfinite(x)
                   ? ""
                   : "expected a number above 0, found " + text;
      },
      "POSITIVE");
  auto* const choose = app.add_option("--choose", q.choose, "find the layouts of the least seconds, bytes or memory")
                           ->check(CLI::IsMember({"seconds", "bytes", "memory"}))
                           ->excludes(layout)
                           ->excludes(state)
                           ->excludes(gradients);
  if (upper != nullptr) choose->excludes(upper);
  app.add_option("--ranks", q.ranks, "--choose: on all meshes of so many ranks, of up to three axes")
      ->check(CLI::Range(1, most_ranks))
      ->needs(choose);
  app.add_option("--pin", q.pinned, "--choose: rules that each layout has, such as \"vocab:model\"")->needs(choose);
  app.add_option("--whole", q.whole, "--choose: dimensions that are not split")->needs(choose);
  app.add_option("--memory", q.memory, "--choose: gigabytes that a rank may hold, if less than the machine has")
      ->check(positive)
      ->needs(choose);
  app.add_option("--wanted", q.wanted, "--choose: how many layouts")
      ->check(positive)
      ->capture_default_str()
      ->needs(choose);
  if (upper != nullptr)
    app.add_flag("--two-layouts", q.two_layouts, "--choose: the upper half of the layers may have a layout of its own")
        ->needs(choose);
  size_options const sizes(app, of.sizes, model_types_of(all_sizes));
  try {
    app.parse(argc, argv);
  } catch (CLI::CallForHelp const&) {
    return app.help();
  } catch (CLI::ParseError const& e) {
    throw mtf::user_error(std::string(e.what()) + " (see --help)");
  }
  auto const model = sizes.result();
  q.model.extents = model.extents;
  q.model.sizes = model.sizes;
  q.model.size_flags = model.flags;
  mtf::distinct_files all;
  if (q.machine.ends_with(".json")) all.reads("--machine", q.machine);
  all.writes("--json", q.json);
  all.writes("--html", q.html);
  auto const machine = machine_named(q.machine);
  std::string text;
  std::vector<step_options> asked;
  if (!q.choose.empty()) {
    auto const found = search(of, q, machine);
    if (found.best.empty()) tell_why_none(of, found, q, machine);
    text = describe(found, q);
    if (q.json.empty() && q.html.empty()) return text;
    for (auto const& f : found.best) asked.push_back(options_of(f, q.two_layouts, q.model));
  } else if (q.meshes.empty()) {
    throw mtf::user_error("expected --mesh, or --choose (see --help)");
  } else {
    asked = layouts_asked(q);
  }
  std::vector<answer> answers;
  for (auto const& about : asked) answers.push_back(answer_to(of, about, machine));
  if (!q.json.empty() || !q.html.empty()) {
    auto const j = json_of(q, answers, machine);
    write("--json", q.json, j.dump(1) + "\n");
    write("--html", q.html, plan_page(j.dump()));
  }
  for (auto const& a : answers) text += describe(a, machine) + "\n";
  return answers.size() > 1 ? text + table_of(answers) : text;
}

}  // namespace

int plan_by(int argc, char** argv, std::vector<planner> const& models, std::string const& train) try {
  mtf::text_output screen("standard output", stdout);
  screen.write(run(argc, argv, models, train));
  if (!screen.failure().empty()) throw mtf::user_error(screen.failure());
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "mtf: %s\n", e.what());
  return 2;
}

}  // namespace mtf::tools
