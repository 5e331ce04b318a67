#include "generator.hpp"

#include <cstdio>
#include <vector>

#include "../speaks.hpp"
#include "options.hpp"

namespace mtf::tools {

int generate_by(int argc, char** argv, std::vector<generator> const& models) {
  std::vector<sizes_of_task> sizes;
  for (auto const& model : models) sizes.push_back(model.sizes);
  auto const line = parse_generate(argc, argv, sizes, models.front().has_ranks_as_threads);
  if (line.help) {
    if (speaks()) std::fputs(line.help->c_str(), stdout);
    return 0;
  }
  // Also where the line is wrong: it is said once MPI runs, by one rank.
  return models[line.wrong ? 0 : line.model].run(argc, argv, line);
}

}  // namespace mtf::tools
