// All operations that are swept, each family of include/mtf/ops from its files, and their documentation.
#include <algorithm>

#include "oracle.hpp"

namespace sweep {

std::vector<operation> elementwise_of_one_operations();
std::vector<operation> elementwise_of_several_operations();
std::vector<operation> contraction_operations();
std::vector<operation> reduction_operations();
std::vector<operation> cumulative_operations();
std::vector<operation> nn_operations();
std::vector<operation> movement_operations();
std::vector<operation> indexing_operations();
std::vector<operation> sorting_operations();
std::vector<operation> create_operations();

std::vector<operation> all_operations() {
#ifdef MTF_SWEEP_ONLY  // one file of them: scripts/mutate.py
  return MTF_SWEEP_ONLY();
#else
  std::vector<operation> all;
  for (auto const& some : {elementwise_of_one_operations(), elementwise_of_several_operations(),
                           contraction_operations(), reduction_operations(), cumulative_operations(), nn_operations(),
                           movement_operations(), indexing_operations(), sorting_operations(), create_operations()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
#endif
}

/// In a table of Markdown, also inside code.
std::string in_table(std::string const& text) {
  std::string all;
  for (char const c : text) all += c == '|' ? std::string("\\|") : std::string(1, c);
  return all;
}

std::string documented(std::vector<operation> const& all) {
  std::string text = R"(# Operations

Every operation means what it means on the global tensors; a layout changes what it costs, never what it is. The table says
what splitting a dimension costs, as collectives of each rank over the axes that split it: *forward*, and *backward* for a gradient
that is not partial. *Partial operands*: what becomes of an operand that is partial. "Reduced" is one all-reduce of the
operand over those axes, paid for once; a result that "stays partial" costs nothing until somebody needs its value.
Dimensions that are not mentioned may be split for nothing.

This file is written by the layout sweep (`sweep --write-docs`, tests/sweep), which holds every operation to it: on meshes of
one, two and three axes, what each sends is compared with these statements, in order, kind, axes and bytes.

| operation | meaning | forward | backward | partial operands |
|---|---|---|---|---|
)";
  std::vector<std::string> seen;
  for (auto const& op : all) {
    auto const& t = op.text;
    if (std::ranges::find(seen, t.call) != seen.end()) continue;
    seen.push_back(t.call);
    text += "| `" + in_table(t.call) + "` | " + t.meaning + " | " + t.forward + " | " + t.backward + " | " + t.partial +
            " |\n";
  }
  return text;
}

}  // namespace sweep
