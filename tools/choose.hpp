#pragma once
// Layouts that a search finds, for `plan --choose` and `train --choose`.
#include <cstddef>
#include <string>

#include <mtf/plan/machine.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "step_options.hpp"

namespace mtf::tools {

/// h100, tpu-v2, or a file that describes one: else a user_error.
mtf::machine_description machine_named(std::string const& name);

/// The layouts of the least seconds, bytes or memory on the mesh that is asked for, or on all meshes of so many ranks.
mtf::layouts_to_search search_among(step_options const& o, std::string const& least, int ranks, std::size_t layouts,
                                    bool two_layouts);

/// What a search found, as the command line would say it, of the model that `o` is of.
step_options options_of(mtf::found_layout const& f, bool two_layouts, step_options const& o);

/// Makes `o` the best that was found. Nothing, of ranks that have so many bytes: a user_error that says why.
void choose_by(step_options& o, bool two_layouts, mtf::searched_layouts const& found, double has);

/// That a search found nothing: for want of memory, or as all layouts were refused.
[[noreturn]] void found_none(mtf::searched_layouts const& found, double has);

}  // namespace mtf::tools
