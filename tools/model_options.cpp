#include "model_options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mtf/core/error.hpp>

#include "command_line.hpp"
#include "model_source.hpp"
#include "which_model.hpp"

namespace mtf::tools {

model_options::model_options(CLI::App& app, model_choice& on, std::vector<sizes_of_task> models,
                             bool has_ranks_as_threads, int argc, char** argv, std::string const& pass)
    : on_(&on), sizes_(std::move(models)) {
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--model", path_,
                 "a directory with config.json, model.safetensors and tokenizer.json, or a GGUF file of llama.cpp's")
      ->check(is_path)
      ->required();
  app.add_option("--tokenizer", on.tokenizer, "another tokenizer.json, or \"bytes\", for the one in --model")
      ->check(is_path);
  mesh_ = app.add_option("--mesh", on.under.mesh, "the machine's axes with their ranks, such as \"data:2;model:2\"")
              ->capture_default_str();
  auto* const layout = app.add_option("--layout", on.under.layout,
                                      "which dimensions are split over which axes, such as \"batch:data;heads:model\"");
  auto* const choose = app.add_option("--choose", on.choose,
                                      "find the layout of the least seconds, bytes or memory of " + pass +
                                          " first, on the --mesh or on all meshes of as many ranks as there are")
                           ->check(CLI::IsMember({"seconds", "bytes", "memory"}))
                           ->excludes(layout);
  app.add_option("--machine", on.machine,
                 "--choose: h100 (nodes of eight), tpu-v2 (a pod), or a JSON file of benchmark-machine")
      ->capture_default_str()
      ->needs(choose);
  if (has_ranks_as_threads) {
    add_number(app, "--ranks", on.ranks, 1, 1 << 20, "--choose: how many ranks, where mpirun does not say it");
    app.get_option("--ranks")->needs(choose)->excludes(app.get_option("--mesh"))->default_str("");
    app.add_flag("--ranks-as-threads", on.ranks_as_threads,
                 "all ranks are threads of this process, which starts without mpirun");
    // Also where the rest of the line is wrong: the flag decides who reports that.
    on.ranks_as_threads = std::find(argv, argv + argc, std::string_view("--ranks-as-threads")) != argv + argc;
  }
}

std::size_t model_options::find_model() {
  on_->model = std::make_shared<model_source const>(path_);
  auto const model = model_that_is_of(on_->model->config(), sizes_);
  on_->extents = model.extents;
  if (!on_->choose.empty() && mesh_->empty()) on_->under.mesh.clear();
  if (!on_->choose.empty() && on_->ranks_as_threads && mesh_->empty() && on_->ranks == 0)
    throw mtf::user_error("--choose with --ranks-as-threads: expected --ranks, or a --mesh");
  return model.number;
}

}  // namespace mtf::tools
