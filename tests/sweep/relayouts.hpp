#pragma once
// What relayouts send, of which the closed forms of movements are made.
#include <vector>

#include "oracle.hpp"

namespace sweep::forms {

/// Axes inside nodes and between them: what is least between nodes may go in two steps.
bool mixed(mesh_code const& m, set axes);

/// The table of docs/design/states.md, "What relayouts send", axis by axis, where no dimension is split over two axes
/// and one changes from one axis to another only if that was idle and has the same size; false where it is not that
/// simple. Slices first, then one reduce-scatter and permutes; all other axes that change go together: in one
/// all-to-all if one of them splits another dimension afterwards, else in one all-gather.
bool moved(mesh_code const& m, place now, place const& to, std::vector<event>& sent);

}  // namespace sweep::forms
