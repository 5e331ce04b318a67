#include "generate_by.hpp"

#include <vector>

#include "../speaks.hpp"
#include "../writing/generator.hpp"
#include "options.hpp"
#include "writer.hpp"

namespace mtf::tools {

int generate_by(int argc, char** argv, std::vector<generator> const& models) {
  auto const line = parse_generate(argc, argv, models);
  if (line.help) return tell_help(*line.help);
  // Also where the line is wrong: it is said once MPI runs, by one rank.
  return models[line.chosen.on.wrong ? 0 : line.model].run(
      argc, argv, line.chosen.on, [&](model_on_ranks const& model) { write_on(line.chosen, model); });
}

}  // namespace mtf::tools
