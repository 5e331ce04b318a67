#pragma once
// The best layout of a program for a machine: found by pricing layouts in the order of a lower bound of their price,
// until no other can be better.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/collectives.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/detail/plan/layout_bounds.hpp>
#include <mtf/detail/plan/layout_space.hpp>
#include <mtf/detail/plan/outline.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/tensor/place.hpp>

namespace mtf {

/// What the best layout has least of: seconds of a step on the machine, bytes that a rank sends, or bytes that it
/// holds.
enum class least : std::uint8_t { seconds, bytes_sent, memory };

/// Among which layouts the best is searched.
struct layouts_to_search {
  int ranks = 1;                     // on all meshes of so many ranks,
  int most_axes = 3;                 // of up to so many axes;
  std::optional<mesh_value> mesh{};  // or on this one
  layout_value pinned{};             // its rules are part of each layout; needs the mesh
  std::vector<std::string> whole{};  // dimensions that are not split
  std::uint64_t memory = ~0ULL;      // bytes that a rank may hold; no more than the machine has
  least of = least::seconds;
  std::size_t wanted = 3;  // the best ones
};

/// A layout, how gradients are completed and whether the optimizer's state is split under it, and what a step then
/// takes of one rank.
struct found_layout {
  layout_value layout;
  completed_gradients gradients = completed_gradients::later;
  bool state_is_split = false;
  double seconds = 0;
  std::uint64_t bytes_sent = 0, memory = 0;

  /// What is to be least.
  [[nodiscard]] constexpr double of(least what) const {
    return what == least::seconds ? seconds : static_cast<double>(what == least::memory ? memory : bytes_sent);
  }
};

/// What a search came to. Of each layout there are up to four: with gradients completed later or overlapped, with the
/// optimizer's state as the parameters or split.
struct searched_layouts {
  std::vector<found_layout> best;  // ascending
  std::uint64_t meshes = 0;
  std::uint64_t layouts = 0;    // whose tensors can lie so
  std::uint64_t priced = 0;     // plans
  std::uint64_t bounded = 0;    // layouts that were not priced: their bound is no less than the last of the best
  std::uint64_t too_large = 0;  // plans that need more memory
  std::vector<std::pair<std::string, std::uint64_t>> refused{};  // plans, by the compiler's sentence
  std::uint64_t priced_for_bounds = 0;                           // plans on one axis
};

namespace detail {

/// A search, of which the program is behind `price`: price(layout, gradients, state is split) makes the plan of a
/// layout and reads it, read(plan).
class layout_search {
 public:
  constexpr layout_search(program_outline const& outline, machine_description const& machine,
                          machine_description const& best, layouts_to_search const& among, bool splits_state)
      : outline_(&outline), machine_(&machine), best_(&best), among_(&among), splits_state_(splits_state) {
    if (among.memory < machine.memory)
      memory_ = among.memory;
    else
      memory_ = machine.memory;
  }

  template <class Price>
  constexpr searched_layouts run(Price const& price) {
    list_meshes();
    list_choices();
    for (std::size_t m = 0; m < meshes_.size(); ++m) list_layouts(m);
    auto const later = [](candidate const& a, candidate const& b) { return a.bound > b.bound; };
    std::make_heap(open_.begin(), open_.end(), later);
    while (!open_.empty() && !(full() && open_.front().bound >= worst())) {
      std::pop_heap(open_.begin(), open_.end(), later);
      candidate c = open_.back();
      open_.pop_back();
      if (c.refined) {
        price_all(c, price);
      } else if (refine(c, price)) {
        open_.push_back(c);
        std::push_heap(open_.begin(), open_.end(), later);
      }
    }
    result_.bounded = open_.size();
    return std::move(result_);
  }

 private:
  struct candidate {
    double bound = 0;
    std::uint16_t mesh = 0;
    bool refined = false;  // the bound knows of collectives other than gradients'
    std::array<std::uint16_t, max_axes> choice{};
  };
  struct mesh_of_search {
    mesh_value mesh;
    layout_bounds bounds;
    axis_choices pinned{};
  };

  [[nodiscard]] constexpr double bound_of(layout_bounds::parts const& p) const {
    constexpr double margin = 1 - 1e-9;  // for rounding: a plan's sums are taken in another order
    return margin * (among_->of == least::seconds  ? p.seconds(machine_->overlap)
                     : among_->of == least::memory ? p.memory
                                                   : p.bytes_sent);
  }
  [[nodiscard]] constexpr bool full() const { return result_.best.size() >= among_->wanted; }
  [[nodiscard]] constexpr double worst() const { return result_.best.back().of(among_->of); }

  constexpr void list_meshes() {
    std::vector<mesh_shape> shapes;
    if (among_->mesh) {
      meshes_.push_back({*among_->mesh, layout_bounds(*outline_, *best_, among_->mesh->shape)});
    } else {
      ordered_ = among_->ranks > machine_->ranks_per_node && machine_->ranks_per_node > 1;
      meshes_of(among_->ranks, among_->most_axes, ordered_, {}, shapes);
      for (auto const& s : shapes) meshes_.push_back({named_mesh(s), layout_bounds(*outline_, *best_, s)});
    }
    result_.meshes = meshes_.size();
  }
  constexpr dim_mask mask_of(std::uint64_t id) const {
    for (std::size_t d = 0; d < outline_->dims.size(); ++d)
      if (outline_->dims[d].id == id) return dim_mask{1} << d;
    return 0;
  }
  constexpr void list_choices() {
    dim_mask may = ~dim_mask{0};
    for (auto const& name : among_->whole) may &= ~mask_of(hash_of(name));
    for (int i = 0; i < among_->pinned.size; ++i) {
      auto const& rule = among_->pinned.rules[static_cast<std::size_t>(i)];
      may &= ~mask_of(rule.dim);
      for (int a = 0; a < rule.axes.size; ++a)
        meshes_.front().pinned[static_cast<std::size_t>(rule.axes[a])] |= mask_of(rule.dim);
    }
    sets_apart(outline_->dims, may, 0, 0, sets_);
  }

  // Layouts on a mesh: a set of dimensions for each axis.
  constexpr void list_layouts(std::size_t m) {
    candidate c;
    c.mesh = static_cast<std::uint16_t>(m);
    axis_choices choices = meshes_[m].pinned;
    list_from(0, c, choices);
  }
  constexpr void list_from(std::size_t axis, candidate& c, axis_choices& choices) {
    auto const& on = meshes_[c.mesh];
    if (axis == static_cast<std::size_t>(on.mesh.shape.ndim)) {
      if (!among_->mesh && is_one_with_fewer_axes(on.mesh.shape, choices)) return;
      auto const p = on.bounds.at(choices, {});
      ++result_.layouts;
      if (p.memory > static_cast<double>(memory_)) {
        ++result_.too_large;
        return;
      }
      c.bound = bound_of(p);
      open_.push_back(c);
      return;
    }
    dim_mask const pinned = on.pinned[axis];
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      if (!apart(pinned, sets_[i])) continue;
      choices[axis] = pinned | sets_[i];
      if (!divides(outline_->dims, on.mesh.shape, choices)) continue;
      c.choice[axis] = static_cast<std::uint16_t>(i);
      list_from(axis + 1, c, choices);
    }
    choices[axis] = pinned;
  }
  /// Two axes that lie side by side and split the same dimensions are one axis, and the mesh on which they are one is
  /// searched too. Where the order of axes changes no price all lie side by side, and of axes of one extent the first
  /// may as well have the larger set.
  [[nodiscard]] constexpr bool is_one_with_fewer_axes(mesh_shape const& mesh, axis_choices const& choices) const {
    for (std::size_t a = 0; a < static_cast<std::size_t>(mesh.ndim); ++a)
      for (std::size_t b = a + 1; b < static_cast<std::size_t>(mesh.ndim); ++b) {
        if (choices[a] == choices[b] && (b == a + 1 || !ordered_)) return true;
        if (!ordered_ && mesh.extent[a] == mesh.extent[b] && choices[a] < choices[b]) return true;
      }
    return false;
  }
  [[nodiscard]] constexpr bool apart(dim_mask pinned, dim_mask set) const {
    for (std::size_t d = 0; d < outline_->dims.size(); ++d)
      if (((pinned >> d) & 1U) != 0 && (outline_->dims[d].beside & set) != 0) return false;
    return true;
  }

  [[nodiscard]] constexpr axis_choices choices_of(candidate const& c) const {
    axis_choices choices = meshes_[c.mesh].pinned;
    for (std::size_t a = 0; a < static_cast<std::size_t>(meshes_[c.mesh].mesh.shape.ndim); ++a)
      choices[a] |= sets_[c.choice[a]];
    return choices;
  }
  /// The bound that knows of plans on one axis. False if one of these is refused: so is the layout.
  template <class Price>
  constexpr bool refine(candidate& c, Price const& price) {
    auto const& on = meshes_[c.mesh];
    auto const choices = choices_of(c);
    std::array<layout_bounds::one_axis, max_axes> alone{};
    for (std::size_t a = 0; a < static_cast<std::size_t>(on.mesh.shape.ndim); ++a) {
      alone[a] = alone_on(on.mesh.shape.extent[a], choices[a], price);
      if (alone[a].refused) return false;
    }
    c.bound = bound_of(on.bounds.at(choices, alone));
    c.refined = true;
    return true;
  }
  template <class Price>
  constexpr layout_bounds::one_axis alone_on(int extent, dim_mask set, Price const& price) {
    for (auto const& a : alone_)
      if (a.extent == extent && a.set == set) return a.plan;
    layout_bounds::one_axis found;
    if (set != 0) {
      auto const mesh = named_mesh({1, {extent, 1, 1, 1, 1, 1}});
      ++result_.priced_for_bounds;
      found.refused = !try_to([&] {
        price(layout_with(outline_->dims, mesh, {set}), completed_gradients::later, false, [&](auto const& plan) {
          for (std::size_t i = 0; i < plan.collectives.size(); ++i) {
            auto const& s = plan.collectives[i];
            if (same_text(s.operation, "gradient") || same_text(s.operation, "small gradients") ||
                same_text(s.operation, "parameter"))
              continue;
            auto const times = plan.times(i);
            found.payload[static_cast<std::size_t>(s.kind)] += static_cast<double>(times * s.payload);
            found.bytes_sent += static_cast<double>(times * bytes_sent(s.kind, s.payload, extent));
          }
        });
      });
    }
    alone_.push_back({extent, set, found});
    return found;
  }

  // False, and counted, if the layout is refused.
  template <class Do>
  constexpr bool try_to(Do const& what) {
    try {
      what();
      return true;
    } catch (user_error const& e) {
      std::string const text = e.what(), sentence = text.substr(0, text.find("; here: "));
      for (auto& r : result_.refused)
        if (r.first == sentence) {
          ++r.second;
          return false;
        }
      result_.refused.emplace_back(sentence, 1);
      return false;
    }
  }

  template <class Price>
  constexpr void price_all(candidate const& c, Price const& price) {
    auto const layout = layout_with(outline_->dims, meshes_[c.mesh].mesh, choices_of(c));
    std::optional<found_layout> best;
    for (bool const split : {false, true})
      for (auto const when : {completed_gradients::overlapped, completed_gradients::later}) {
        if (split && !splits_state_) continue;
        found_layout f{layout, when, split};
        bool const taken = try_to([&] {
          price(layout, when, split, [&](auto const& plan) {
            f.seconds = plan.seconds(*machine_);
            f.bytes_sent = plan.bytes_sent_per_rank();
            f.memory = plan.peak_bytes;
          });
        });
        if (!taken) return;  // the four differ in nothing that a rule asks
        ++result_.priced;
        if (f.of(among_->of) < c.bound) throw_below_bound(layout);
        if (f.memory > memory_)
          ++result_.too_large;
        else if (!best || f.of(among_->of) < best->of(among_->of))
          best = f;
      }
    if (best) keep(*best);
  }
  constexpr void keep(found_layout const& f) {
    auto& all = result_.best;
    double const price = f.of(among_->of);
    if (full() && !(price < worst())) return;
    auto at = all.begin();
    while (at != all.end() && at->of(among_->of) <= price) ++at;
    all.insert(at, f);
    if (all.size() > among_->wanted) all.pop_back();
  }
  // Not constexpr: a search at compile time ends here.
  [[noreturn]] static void throw_below_bound(layout_value const& layout) {
    throw std::logic_error("the price of layout \"" + layout.text() +
                           "\" is below its bound: this is an error in mtf, please report it");
  }

  struct alone_of {
    int extent;
    dim_mask set;
    layout_bounds::one_axis plan;
  };
  program_outline const* outline_;
  machine_description const *machine_, *best_;
  layouts_to_search const* among_;
  bool splits_state_;
  std::uint64_t memory_ = 0;
  bool ordered_ = true;  // the order of a mesh's axes matters
  std::vector<mesh_of_search> meshes_;
  std::vector<dim_mask> sets_;
  std::vector<alone_of> alone_;
  std::vector<candidate> open_;
  searched_layouts result_;
};

}  // namespace detail

/// The best layouts of a program on a machine.
template <class Split = state_split_over<>, class Update = without_update, class F, class... In>
constexpr searched_layouts search_layouts(F const& f, machine_description const& machine,
                                          layouts_to_search const& among, In... in) {
  auto const best = detail::at_best(machine);
  detail::program_outline outline(best);
  {
    layout_value const whole{.mesh = detail::named_mesh({1, {1, 1, 1, 1, 1, 1}})};
    trace b(whole.mesh.shape);
    b.layouts().add(whole);
    b.listen(outline);
    detail::planned_step<completed_gradients::later, state_split_over<>, Update, In...>{
        b, f, detail::stand_in<place<float, any_layout<>, trace>, In>(b).value...};
  }
  auto const price = [&](layout_value const& layout, completed_gradients when, bool split, auto const& read) {
    using enum completed_gradients;
    if (split && when == overlapped)
      read(plan_under<overlapped, Split, Update>(f, layout, in...));
    else if (split)
      read(plan_under<later, Split, Update>(f, layout, in...));
    else if (when == overlapped)
      read(plan_under<overlapped, state_split_over<>, Update>(f, layout, in...));
    else
      read(plan_under<later, state_split_over<>, Update>(f, layout, in...));
  };
  return detail::layout_search(outline, machine, best, among, !std::is_same_v<Split, state_split_over<>>).run(price);
}

}  // namespace mtf
