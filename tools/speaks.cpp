#include "speaks.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <mtf/train/text_output.hpp>

namespace mtf::tools {

bool speaks() {
  for (char const* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (char const* rank = std::getenv(name)) return std::string_view(rank) == "0";
  return true;
}

int tell_help(std::string const& text) {
  mtf::text_output screen("standard output", speaks() ? stdout : nullptr);
  screen.write(text);
  if (screen.failure().empty()) return 0;
  std::fprintf(stderr, "mtf: %s\n", screen.failure().c_str());
  return 2;
}

}  // namespace mtf::tools
