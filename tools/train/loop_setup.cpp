#include "loop_setup.hpp"

#include <cstdint>
#include <string>

#include <mtf/plan/describe.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/train/loop_options.hpp>
#include <mtf/train/run_report.hpp>

#include "../page/page.hpp"
#include "../text_of.hpp"
#include "options.hpp"

namespace mtf::tools {
namespace {

/// Adds what is known of any program.
mtf::run_description description_of(options const& o, std::int64_t parameters, mtf::run_description about,
                                    mtf::plan_value const& plan) {
  auto const mb = [](auto bytes) { return text_of("%.2f MB", static_cast<double>(bytes) / 1e6); };
  auto const count = [](auto n) { return std::to_string(n); };
  about.facts.insert(
      about.facts.end(),
      {{"parameters", count(parameters)},
       {"sizes", text_of(o.sizes)},
       {"batches in a step", count(o.accumulate)},
       {"optimizer", o.optimizer},
       {"mesh", o.mesh},
       {"layout", (o.layout.empty() ? "nothing is split" : o.layout) +
                      (o.upper_layout ? "; upper half of the layers: " + *o.upper_layout : "")},
       {"a rank sends in a step", mb(plan.bytes_sent_per_rank()) + " in " + count(plan.count()) + " collectives"},
       {"a rank computes in a step", text_of("%.3g GFLOP of matrix products", plan.flops() / 1e9)},
       {"memory of tensors on a rank", mb(plan.peak_bytes) + " in a step"}});
  about.plan = mtf::describe(plan);
  return about;
}

}  // namespace

mtf::loop_options loop_options_from(options const& o, std::int64_t parameters, mtf::run_description about,
                                    mtf::plan_value const& plan, double flops) {
  mtf::loop_options loop{.steps = o.steps,
                         .learning_rate = learning_rates(o),
                         .evaluate_every = o.eval_every,
                         .evaluation_unit = about.loss_unit,
                         .log = o.log,
                         .tensorboard = o.tensorboard,
                         .report = o.report,
                         .page = run_page,
                         .about = description_of(o, parameters, about, plan),
                         .reads = {o.data}};
  loop.checkpoints = {.directory = o.checkpoint, .keep = o.keep, .keep_every = o.keep_every};
  loop.checkpoint_every = o.every;
  loop.resume = o.resume;
  loop.same["seed"] = std::to_string(o.seed);
  loop.same["sizes of the model"] = text_of(o.sizes);
  loop.same["optimizer"] = o.optimizer;
  loop.same["number of batches in a step"] = std::to_string(o.accumulate);
  loop.notes = {{"mesh", o.mesh}, {"layout", o.layout}};
  loop.on_spike = o.on_spike;
  loop.on_not_finite = o.on_not_finite;
  loop.on_failed_checkpoint = o.on_failed_checkpoint;
  loop.flops = flops;
  if (o.buckets.empty()) loop.sends = plan.unrolled();  // else the first batch may be of another length
  loop.profile = o.profile;
  return loop;
}

}  // namespace mtf::tools
