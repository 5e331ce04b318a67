#include "evaluator.hpp"

#include <vector>

#include "../sizes.hpp"
#include "../speaks.hpp"
#include "options.hpp"

namespace mtf::tools {

int evaluate_by(int argc, char** argv, std::vector<evaluator> const& models) {
  std::vector<sizes_of_task> sizes;
  sizes.reserve(models.size());
  for (auto const& model : models) sizes.push_back(model.sizes);
  auto const line = parse_evaluate(argc, argv, sizes, models.front().has_ranks_as_threads);
  if (line.help) return tell_help(*line.help);
  // Also where the line is wrong: it is said once MPI runs, by one rank.
  return models[line.chosen.on.wrong ? 0 : line.model].run(argc, argv, line);
}

}  // namespace mtf::tools
