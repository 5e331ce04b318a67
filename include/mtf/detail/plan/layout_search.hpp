#pragma once
// The search for layouts: they are priced in the order of a lower bound of their price, until no other can be better.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/growing_array.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/plan/layout_bounds.hpp>
#include <mtf/detail/plan/layout_candidates.hpp>
#include <mtf/detail/plan/layout_space.hpp>
#include <mtf/detail/plan/outline.hpp>
#include <mtf/plan/searched_layouts.hpp>

namespace mtf::detail {

/// What plan a search asks for.
struct asked_plan {
  completed_gradients when = completed_gradients::later;
  bool splits_state = false;
  bool on_one_axis = false;  // of which only collectives other than gradients' are asked
};

/// A search, of which the program is behind `price`: price(layouts, asked_plan) plans it under layouts.
class layout_search : layout_candidates {
 public:
  using layout_candidates::layout_candidates;

  template <class Price>
  constexpr searched_layouts run(Price const& price) {
    list();
    list_equal_ones();
    best_first(price);
    if (among_->layouts > 1 && !among_->alike) {
      list_different_ones();
      best_first(price);
    }
    result_.bounded = result_.layouts - result_.tried - result_.elsewhere - result_.parameters_too_large;
    return std::move(result_);
  }

  // The same in steps, for programs of one layout on one mesh: what is looked at, and a search that stops at each price
  // that is not known, to go on when it is.
  struct open_layout {
    double bound = 0;
    axis_choices choices{};
  };
  struct listed_layouts {
    std::uint64_t layouts = 0;  // as in searched_layouts
    backend::growing_array<open_layout> open;
  };
  /// None, and one more than `most`, if there are more.
  constexpr listed_layouts listed(std::size_t most) {
    most_ = most;
    list();
    if (result_.layouts <= most) list_equal_ones();
    listed_layouts l{result_.layouts, {}};
    for (auto const& c : open_) l.open.push_back(open_layout{c.bound, meshes_[0].layouts[0][c.part[0]].choices});
    return l;
  }
  /// A layout that is to be looked at: the listed one of this index.
  struct waiting_layout {
    double bound = 0;
    std::size_t index = 0;
    axis_mask refined = 0;
  };
  /// What is known of layouts on one axis.
  struct alone_of {
    int extent = 1;
    std::array<dim_mask, max_layouts> sets{};
    layout_bounds::collectives_sent sent{};
    bool refused = false;
    std::size_t why = 0;
  };
  /// Goes on with the search among the listed layouts that stopped as `s`, or begins it, and stops where a price is not
  /// known, or comes to its end: then it is true. `Stopped` is a stopped_search.
  template <class Listed, class Stopped, class Price>
  constexpr bool resume(Listed const& l, Stopped const& s, Price const& price) {
    list_meshes();
    result_.tried = s.tried;
    if (s.refused > 0) refused_.push_back(s.refused);
    if (s.found) result_.best.push_back({{s.best}, *among_->completed, false, s.seconds, s.bytes_sent, s.memory});
    meshes_[0].layouts[0].reserve(l.count);
    open_.reserve(l.count);
    for (std::size_t i = 0; i < l.count; ++i) meshes_[0].layouts[0].push_back(part{0, l.open[i].choices});
    auto const candidate_of = [](waiting_layout const& w) {
      return candidate{
          .bound = w.bound, .refined = w.refined, .alike = true, .part = {static_cast<std::uint32_t>(w.index)}};
    };
    if (s.begun) {
      for (std::size_t i = 0; i < s.open_count; ++i) open_.push_back(candidate_of(s.open[i]));
      for (std::size_t i = 0; i < s.alone_count; ++i) alone_.push_back(s.alone[i]);
      current_ = candidate_of(s.current);
      has_current_ = true;
    } else {
      for (std::size_t i = 0; i < l.count; ++i) open_.push_back(candidate_of({.bound = l.open[i].bound, .index = i}));
      std::make_heap(open_.begin(), open_.end(), &later);
    }
    look(price);
    return !stopped_;
  }
  /// How it stopped.
  template <class Stopped>
  constexpr void store(Stopped& s) const {
    auto const waiting = [](candidate const& c) { return waiting_layout{c.bound, c.part[0], c.refined}; };
    s.begun = true;
    s.current = waiting(current_);
    for (auto const& c : open_) s.open[s.open_count++] = waiting(c);
    for (auto const& a : alone_) s.alone[s.alone_count++] = a;
    s.tried = result_.tried;
    for (auto const n : refused_) s.refused += n;
    for (auto const& b : result_.best) {
      s.found = true;
      s.best = b.layouts.front();
      s.seconds = b.seconds;
      s.bytes_sent = b.bytes_sent;
      s.memory = b.memory;
    }
  }

  /// Layouts refused, by why.
  [[nodiscard]] constexpr std::vector<std::uint64_t> const& refused() const { return refused_; }

 private:
  // The search -------------------------------------------------------------------------------------------------------

  static constexpr bool later(candidate const& a, candidate const& b) { return a.bound > b.bound; }
  template <class Price>
  constexpr void best_first(Price const& price) {
    std::make_heap(open_.begin(), open_.end(), &later);
    look(price);
    open_.keep_first(0);
  }
  template <class Price>
  constexpr void look(Price const& price) {
    while (has_current_ || (!open_.empty() && !is_pointless(open_[0].bound))) {
      if (!has_current_) {
        std::pop_heap(open_.begin(), open_.end(), &later);
        current_ = open_.back();
        open_.pop_back();
      }
      candidate c = current_;
      if (c.refined == all_axes(c)) {
        try_all_ways(c, price);
      } else if (refine(c, price)) {
        open_.push_back(c);
        std::push_heap(open_.begin(), open_.end(), &later);
      }
      has_current_ = stopped_;
      if (stopped_) return;
    }
  }
  constexpr std::vector<layout_value> layouts_on(mesh_value const& mesh, all_choices const& choices) const {
    std::vector<layout_value> all;
    all.reserve(among_->layouts);
    for (std::size_t l = 0; l < among_->layouts; ++l) all.push_back(layout_with(outline_->dims, mesh, choices[l]));
    return all;
  }
  [[nodiscard]] constexpr axis_mask all_axes(candidate const& c) const {
    return (axis_mask{1} << static_cast<unsigned>(meshes_[c.mesh].mesh.shape.ndim)) - 1;
  }
  /// A bound that knows of plans on one axis: of those that were made already. If there are none, one is made. False if
  /// one is refused: so is the layout.
  template <class Price>
  constexpr bool refine(candidate& c, Price const& price) {
    auto const& on = meshes_[c.mesh];
    auto const choices = choices_of(c);
    std::array<layout_bounds::collectives_sent, max_axes> alone{};
    axis_mask const before = c.refined;
    auto const sets_on = [&](std::size_t a) {
      std::array<dim_mask, max_layouts> sets{};
      for (std::size_t l = 0; l < among_->layouts; ++l) sets[l] = choices[l][a];
      return sets;
    };
    std::size_t unknown = 0;
    for (std::size_t a = 0; a < static_cast<std::size_t>(on.mesh.shape.ndim); ++a) {
      int const extent = on.mesh.shape.extent[a];
      auto const* const found = alone_on(extent, sets_on(a));
      if (found == nullptr) {
        unknown = a;
        continue;
      }
      if (found->refused) {
        count_refused(found->why);
        return false;
      }
      alone[a] = found->sent.on_another(found->extent, extent);
      c.refined |= axis_mask{1} << static_cast<unsigned>(a);
    }
    if (c.refined == before)
      make_alone(on.mesh.shape.extent[unknown], sets_on(unknown), price);
    else
      c.bound = bound_of(on.bounds.refined(choices, alone), true);
    return !stopped_;
  }
  /// What is known of an axis of this extent that splits these dimensions, or of one of another.
  [[nodiscard]] constexpr alone_of const* alone_on(int extent, std::array<dim_mask, max_layouts> const& sets) const {
    if (sets == no_splits_.sets) return &no_splits_;  // nothing is sent, however long it is
    for (auto const& a : alone_)
      if (a.sets == sets && (a.extent == extent || (!a.refused && a.sent.tells_of_others()))) return &a;
    return nullptr;
  }
  /// Plans the program on one axis.
  template <class Price>
  constexpr void make_alone(int extent, std::array<dim_mask, max_layouts> const& sets, Price const& price) {
    all_choices choices{};
    for (std::size_t l = 0; l < among_->layouts; ++l) choices[l][0] = sets[l];
    auto const p =
        price(layouts_on(named_mesh({1, {extent, 1, 1, 1, 1, 1}}), choices), asked_plan{.on_one_axis = true});
    stopped_ = !p.known;
    if (stopped_) return;
    ++result_.on_one_axis;
    alone_.push_back(alone_of{extent, sets, p.others, p.refused, p.why});
  }
  constexpr void count_refused(std::size_t why) {
    ++result_.tried;
    if (refused_.size() <= why) refused_.resize(why + 1);
    ++refused_[why];
  }

  template <class Price>
  constexpr void try_all_ways(candidate const& c, Price const& price) {
    auto const layouts = layouts_on(meshes_[c.mesh].mesh, choices_of(c));
    std::optional<found_layout> best;
    for (bool const split : {false, true})
      for (auto const when : {completed_gradients::overlapped, completed_gradients::later}) {
        if ((split && !splits_state_) || when != among_->completed.value_or(when)) continue;
        auto const p = price(layouts, asked_plan{when, split});
        stopped_ = !p.known;
        if (stopped_) return;
        if (p.refused) {
          count_refused(p.why);
          return;  // the four differ in nothing that a rule asks
        }
        ++result_.priced;
        found_layout const f{layouts, when, split, p.seconds, p.bytes_sent, p.memory};
        if (f.of(among_->of) < c.bound) throw_below_bound(layouts);
        if (f.memory > memory_)
          ++result_.too_large;
        else if (!best || f.of(among_->of) < best->of(among_->of))
          best = f;
      }
    ++result_.tried;
    if (best) keep(*best);
  }
  constexpr void keep(found_layout const& f) {
    auto& all = result_.best;
    double const price = f.of(among_->of);
    if (is_pointless(price)) return;
    auto at = all.begin();
    while (at != all.end() && at->of(among_->of) <= price) ++at;
    all.insert(at, f);
    if (all.size() > among_->wanted) all.pop_back();
  }
  // Not constexpr: a search at compile time ends here.
  [[noreturn]] static void throw_below_bound(std::vector<layout_value> const& layouts) {
    std::string text;
    for (auto const& l : layouts) text += " \"" + l.text() + "\"";
    throw std::logic_error("the price of layout" + text + " on " + layouts.front().mesh.text() +
                           " is below its bound: this is an error in mtf, please report it");
  }

  bool stopped_ = false;      // a price is not known yet,
  bool has_current_ = false;  // of what is needed for this one
  candidate current_{};
  alone_of no_splits_{};
  backend::growing_array<alone_of> alone_;
  std::vector<std::uint64_t> refused_;  // layouts, by why
};

}  // namespace mtf::detail
