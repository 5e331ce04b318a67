#include "choose.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include <mtf/core/error.hpp>
#include <mtf/plan/machine_json.hpp>
#include <mtf/plan/machines.hpp>

#include "text_of.hpp"

namespace mtf::tools {
namespace {

/// As --mesh takes it.
std::string notation(mtf::mesh_value const& mesh) {
  auto text = mesh.text();
  std::replace(text.begin(), text.end(), ' ', ';');
  return text;
}

}  // namespace

mtf::machine_description machine_named(std::string const& name) {
  if (name == "h100") return mtf::machines::h100_nodes();
  if (name == "tpu-v2") return mtf::machines::tpu_v2_pod();
  if (name.ends_with(".json")) return mtf::read_machine(name);
  throw mtf::user_error("--machine: expected h100, tpu-v2 or a .json file that benchmarks/machine wrote, found \"" +
                        name + "\"");
}

mtf::layouts_to_search search_among(step_options const& o, std::string const& least, int ranks, std::size_t layouts,
                                    bool two_layouts) {
  mtf::layouts_to_search among{.ranks = std::max(ranks, 1), .layouts = layouts, .alike = !two_layouts};
  if (!o.mesh.empty()) among.mesh = mtf::mesh_from(o.mesh);
  among.of = least == "bytes" ? mtf::least::bytes_sent : least == "memory" ? mtf::least::memory : mtf::least::seconds;
  return among;
}

step_options options_of(mtf::found_layout const& f, bool two_layouts, step_options const& o) {
  auto const &lower = f.layouts.front(), &upper = f.layouts.back();
  auto chosen = o;
  chosen.mesh = notation(lower.mesh);
  chosen.layout = lower.text();
  chosen.upper_layout.reset();
  if (two_layouts && !(lower == upper)) chosen.upper_layout = upper.text();
  chosen.state_is_split = f.state_is_split;
  chosen.gradients_overlap = f.gradients == mtf::completed_gradients::overlapped;
  return chosen;
}

void choose_by(step_options& o, bool two_layouts, mtf::searched_layouts const& found, double has) {
  if (found.best.empty()) found_none(found, has);
  o = options_of(found.best.front(), two_layouts, o);
}

void found_none(mtf::searched_layouts const& found, double has) {
  if (!found.refused.empty())
    throw mtf::user_error("--choose: all layouts that fit are refused: " + found.refused.front().first);
  throw mtf::user_error(text_of(
      "--choose: no layout fits into the %.4g GB of a rank: the parameters alone do not under %llu of %llu, and "
      "%llu plans need more",
      has / 1e9, static_cast<unsigned long long>(found.parameters_too_large),
      static_cast<unsigned long long>(found.layouts), static_cast<unsigned long long>(found.too_large)));
}

}  // namespace mtf::tools
