#include "model_choice.hpp"

#include <cstdio>
#include <string>

#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/core/extents_value.hpp>

#include "choose.hpp"
#include "speaks.hpp"
#include "step_options.hpp"
#include "text_of.hpp"

namespace mtf::tools {

mesh_and_layout layout_for(model_choice const& o, int ranks, mtf::extents_value const& extents, pass_search search,
                           std::string const& pass) {
  if (o.choose.empty()) return o.under;
  auto const machine = machine_named(o.machine);
  step_options chosen;
  chosen.mesh = o.under.mesh;
  auto among = search_among(chosen, o.choose, ranks > 0 ? ranks : o.ranks, 1, false);
  among.completed = mtf::completed_gradients::later;  // there are none: one plan of each layout is enough
  auto const found = search(machine, among, extents);
  choose_by(chosen, false, found, static_cast<double>(machine.memory));
  if (speaks()) {
    auto const& best = found.best.front();
    std::fprintf(
        stderr, "mtf: --choose %s: --mesh %s --layout %s, of %llu layouts; %s%s\n", o.choose.c_str(),
        shell_word(chosen.mesh).c_str(), shell_word(chosen.layout).c_str(),
        static_cast<unsigned long long>(found.layouts), pass.c_str(),
        text_of(" would take %.4g ms on %s; a rank sends %.4g MB and holds %.4g MB", 1e3 * best.seconds,
                o.machine.c_str(), static_cast<double>(best.bytes_sent) / 1e6, static_cast<double>(best.memory) / 1e6)
            .c_str());
  }
  return {chosen.mesh, chosen.layout};
}

}  // namespace mtf::tools
