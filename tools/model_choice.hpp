#pragma once
// What the programs that run a model are told of it: which it is, and how it lies on ranks.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <mtf/core/extents_value.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "model_source.hpp"

namespace mtf::tools {

/// A mesh and a layout on it, as command lines have them.
struct mesh_and_layout {
  std::string mesh = "one:1", layout;
};

/// A model, and how it lies on ranks.
struct model_choice {
  std::shared_ptr<model_source const> model;  // there, if nothing is wrong
  std::string tokenizer;                      // in place of the model's own, as model_source takes it
  mesh_and_layout under;
  std::string choose;  // the layout of the least seconds, bytes or memory, in place of that one; empty: that one
  std::string machine = "h100";  // on which a pass would take them
  int ranks = 0;                 // on all meshes of so many, if none is given and mpirun does not say it
  bool ranks_as_threads = false;
  mtf::extents_value extents;            // of the model
  std::int64_t rows = 1, positions = 1;  // of what a pass is asked of, where a layout is searched
  std::optional<std::string> wrong;      // the command line is: said once MPI runs, by one rank
};

/// The search among the layouts of what a program does with a model of such sizes: batch, sequence and memory too.
using pass_search = mtf::searched_layouts (*)(mtf::machine_description const& machine,
                                              mtf::layouts_to_search const& among, mtf::extents_value const& extents);

/// What the command line says; or what the search finds, which is told in a line on standard error, by the first rank.
/// `ranks`: that there are; 0: as the command line says. `pass`: what is searched, in words. Nothing found: a
/// user_error.
mesh_and_layout layout_for(model_choice const& o, int ranks, mtf::extents_value const& extents, pass_search search,
                           std::string const& pass);

}  // namespace mtf::tools
