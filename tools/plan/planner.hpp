#pragma once
// The program `plan`, but for the models.
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <mtf/core/extents_value.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/record.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "../sizes.hpp"
#include "../step_options.hpp"

namespace mtf::tools {

/// What `plan` asks of one of the models that it has.
struct planner {
  std::function<mtf::plan_record(step_options const&)> record{};  // of a whole training step, AdamW included
  std::function<mtf::searched_layouts(mtf::machine_description const&, mtf::layouts_to_search const&,
                                      mtf::extents_value const&)>
      search{};
  sizes_of_task sizes{};
  std::size_t layouts = 1;  // that the program has
};

/// What `plan` does, by its command line, with the model that this asks for. `train`: the program beside this one that
/// trains the same under any layout, if there is one. Gives the exit code.
int plan_by(int argc, char** argv, std::vector<planner> const& models, std::string const& train = {});

}  // namespace mtf::tools
