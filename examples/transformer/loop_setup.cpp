#include "loop_setup.hpp"

#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <string>

#include <mtf/plan/describe.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/run_report.hpp>

#include "corpus.hpp"
#include "options.hpp"
#include "page.hpp"

namespace transformer {
namespace {

mtf::run_description description_of(options const& o, executable const& built, std::int64_t parameters,
                                    corpus const& data, mtf::plan_value const& plan) {
  auto const mb = [](auto bytes) { return text_of("%.2f MB", static_cast<double>(bytes) / 1e6); };
  auto const count = [](auto n) { return std::to_string(n); };
  return {
      .title = "A Transformer learns " + o.data.substr(o.data.rfind('/') + 1),
      .facts = {{"parameters", count(parameters)},
                {"layers", count(built.layers)},
                {"d_model, heads, d_ff", count(built.d_model) + ", " + count(built.heads) + ", " + count(built.d_ff)},
                {"batch", (o.accumulate == 1 ? "" : count(o.accumulate) + " times ") + count(built.batch) +
                              " sequences of " + count(built.sequence) + " " + data.token_name() + "s"},
                {"data", data.description()},
                {"optimizer", o.optimizer},
                {"mesh", o.mesh},
                {"layout", (o.layout.empty() ? "nothing is split" : o.layout) +
                               (o.upper_layout ? "; upper half of the layers: " + *o.upper_layout : "")},
                {"a rank sends in a step",
                 mb(plan.bytes_sent_per_rank()) + " in " + count(plan.count()) + " collectives"},
                {"a rank computes in a step", text_of("%.3g GFLOP of matrix products", plan.flops() / 1e9)},
                {"memory of tensors on a rank", mb(plan.peak_bytes) + " in a step"}},
      .plan = mtf::describe(plan),
      .loss_scale = 1 / std::log(2.0),
      .loss_unit = std::string("bits/") + data.token_name(),
      .reference = {data.unigram_name(), data.unigram_bits()}};
}

}  // namespace

std::string text_of(char const* format, ...) {
  std::array<char, 200> text{};
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

mtf::loop_options loop_options_from(options const& o, executable const& built, std::int64_t parameters,
                                    corpus const& data, mtf::plan_value const& plan) {
  mtf::loop_options loop{.steps = o.steps,
                         .learning_rate = learning_rates(o),
                         .evaluate_every = o.eval_every,
                         .evaluation_unit = std::string("bits/") + data.token_name(),
                         .log = o.log,
                         .tensorboard = o.tensorboard,
                         .report = o.report,
                         .page = run_page,
                         .about = description_of(o, built, parameters, data, plan),
                         .reads = {o.data}};
  loop.checkpoints = {.directory = o.checkpoint, .keep = o.keep, .keep_every = o.keep_every};
  loop.checkpoint_every = o.every;
  loop.resume = o.resume;
  loop.same = data.same();
  loop.same["seed"] = std::to_string(o.seed);
  loop.same["optimizer"] = o.optimizer;
  loop.same["number of batches in a step"] = std::to_string(o.accumulate);
  loop.notes = {{"mesh", o.mesh}, {"layout", o.layout}};
  loop.on_spike = o.on_spike;
  loop.on_not_finite = o.on_not_finite;
  loop.on_failed_checkpoint = o.on_failed_checkpoint;
  loop.item = "tokens";
  loop.items = static_cast<double>(built.batch * built.sequence) * o.accumulate;
  loop.flops = plan.flops();
  loop.sends = plan.unrolled();
  loop.profile = o.profile;
  return loop;
}

}  // namespace transformer
