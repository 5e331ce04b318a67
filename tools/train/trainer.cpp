#include "trainer.hpp"

#include <string>
#include <vector>

#include "../model_on_line.hpp"
#include "../sizes.hpp"
#include "options.hpp"

namespace mtf::tools {

int train_by(int argc, char** argv, std::vector<trainer> const& models) {
  std::vector<sizes_of_task> sizes;
  sizes.reserve(models.size());
  for (auto const& model : models) sizes.push_back(model.built.sizes);
  auto const asked = model_asked_for(argc, argv, sizes);
  auto const& model = models[asked.number];
  auto line = parse(argc, argv, model.built, model_types_of(sizes));
  // It is said once MPI runs, by one rank.
  if (asked.wrong) line.wrong = asked.wrong;
  return model.run(argc, argv, line);
}

}  // namespace mtf::tools
