#pragma once
// The search for the best layout of writing, for the source of a task that compiles it (mtf_add_tool):
//   template mtf::searched_layouts mtf::tools::search_writing<my_task, float>(mtf::machine_description const&,
//       mtf::layouts_to_search const&, mtf::extents_value const&);
#include <cstdint>
#include <type_traits>

#include <mtf/core/extents_value.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/searched_layouts.hpp>

#include "../pass_search.hpp"
#include "../program.hpp"
#include "searched_writing.hpp"

namespace mtf::tools {

/// A token of each row, with the keys and values of all positions kept: as cached_model has it.
template <class Task, class Precision>
struct planned_writing {
  using computed = typename computed_in<Precision>::type;

  template <class Ids, class Each>
  constexpr auto operator()(Ids const& ids, Ids const& places, Each const& start, Each const& length,
                            auto const& p) const {
    using backend = typename Ids::backend_type;
    using cache =
        typename Task::template cache<mtf::place<computed, typename Ids::layout_type, backend>::template tensor>;
    auto& on = ids.backend();
    auto kept = mtf::sized<cache>(on);
    mtf::for_each_tensor([&](auto const&, auto& x) { x = mtf::zeros<std::remove_reference_t<decltype(x)>>(on); }, kept);
    // (They are there before, and are written in place: what is given to a planned function would be copied.)
    if constexpr (requires { on.begin_step(); }) on.begin_step();
    return gathered_on_all(
        Task::continued(p, kept, ids, places, typename Task::template each_row_at<Each>{start, length}));
  }
};

template <class Task, class Precision>
mtf::searched_layouts search_writing(mtf::machine_description const& machine, mtf::layouts_to_search const& among,
                                     mtf::extents_value const& extents) {
  using each = mtf::input<std::int32_t, typename Task::batch>;
  using tokens = token_input<Task>;
  return searched_pass<Task, Precision>(planned_writing<Task, Precision>{}, machine, among, extents, tokens{}, tokens{},
                                        each{}, each{});
}

}  // namespace mtf::tools
