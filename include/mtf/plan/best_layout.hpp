#pragma once
// The best layout of a program for a machine, found by the compiler.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/detail/plan/layout_search.hpp>
#include <mtf/detail/plan/outline.hpp>
#include <mtf/detail/plan/priced_plan.hpp>
#include <mtf/plan/machine.hpp>
#include <mtf/plan/plan_of.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/plan/search.hpp>
#include <mtf/plan/searched_layouts.hpp>
#include <mtf/tensor/stack.hpp>

#ifdef __NVCC__
#error \
    "mtf: nvcc (13.0) aborts when it searches layouts: include <mtf/plan/best_layout.hpp> where the host's compiler compiles"
#endif

namespace mtf {

/// best_layout would have to look at more layouts than it does.
template <std::size_t Most>
struct error_too_many_layouts : detail::failed {};
/// A program needs more memory than the machine has, under every layout on this mesh.
template <class Mesh>
struct error_no_layout_fits : detail::failed {};

namespace detail {

template <std::size_t Most, class... By>
struct require<error_too_many_layouts<Most>, By...> {
  static_assert(Most == 0,
                "mtf: best_layout would have to look at too many layouts: give it a layout, whose rules are then part "
                "of each, or search when the program runs, by mtf::search_layouts; error_too_many_layouts<most>");
};
template <class M, class... By>
struct require<error_no_layout_fits<M>, By...> {
  static_assert(never<M>, MTF_SENTENCE("mtf: under every layout on this mesh the program needs more memory than a rank "
                                       "of the machine has",
                                       M));
};

}  // namespace detail

/// What the compiler found: a layout, and what a step then takes of one rank.
template <layout_type Layout>
struct chosen_layout {
  /// The layout.
  using layout = Layout;
  double seconds = 0;
  std::uint64_t bytes_sent = 0, memory = 0;
  std::uint64_t layouts = 0, tried = 0;  // as in searched_layouts
  std::uint64_t refused = 0;             // of those tried
};

namespace detail {

// The dimensions of what stands for a program's arguments -------------------------------------------------------------

template <class... D>
using dims_of_field = list<D...>;

template <class X>
struct dims_in;
template <class L>
struct dims_in_all;
template <class... Field>
struct dims_in_all<list<Field...>> {
  using type = concat_t<typename dims_in<Field>::type...>;
};
template <class X>
struct dims_in {
  static auto find() {
    if constexpr (fields<X>)
      return typename dims_in_all<field_types<X>>::type{};
    else
      return list<>{};
  }
  using type = decltype(find());
};
template <class... D>
struct dims_in<list<D...>> {
  using type = list<D...>;
};
template <class X, std::size_t N>
struct dims_in<std::array<X, N>> : dims_in<X> {};
template <class Count, class X>
struct dims_in<stack<Count, X>> : dims_in<X> {};
template <template <template <class...> class> class Structure, class T>
struct dims_in<parameters<Structure, T>> : dims_in<Structure<dims_of_field>> {};
template <class T, class... D>
struct dims_in<input<T, D...>> {
  using type = list<D...>;
};

template <class Seen, class... D>
struct without_repeats {
  using type = Seen;
};
template <class... Seen, class D, class... Rest>
struct without_repeats<list<Seen...>, D, Rest...>
    : without_repeats<std::conditional_t<((Seen::id == D::id) || ...), list<Seen...>, list<Seen..., D>>, Rest...> {};
template <class L>
struct each_once;
template <class... D>
struct each_once<list<D...>> : without_repeats<list<>, D...> {};
template <class Layout>
struct dims_split_by;
template <class Mesh, class... S>
struct dims_split_by<layout<Mesh, S...>> {
  using type = list<typename S::dim_type...>;
};
/// Those that may be split, and those that the layout `Pinned` splits.
template <class Pinned, class... In>
using dims_of_program =
    typename each_once<concat_t<typename dims_in<In>::type..., typename dims_split_by<Pinned>::type>>::type;

// The layout that a value says, as a type -----------------------------------------------------------------------------

// `Found::value` is the layout.
template <class Mesh, class Found, class D, class Axes>
struct split_like {
  using type = std::conditional_t<D::kin != 0, list<split<D>>, list<>>;  // an alias is whole by a rule
};
template <class Mesh, class Found, class D, std::size_t I, std::size_t... J>
struct split_like<Mesh, Found, D, std::index_sequence<I, J...>> {
  static constexpr axis_list axes = Found::value.split_of(D::id, D::kin);
  using type = list<split<D, typename Mesh::template at<axes.at[I]>, typename Mesh::template at<axes.at[J]>...>>;
};
template <class Mesh, class Splits>
struct layout_of_splits;
template <class Mesh, class... S>
struct layout_of_splits<Mesh, list<S...>> {
  using type = layout<Mesh, S...>;
};
template <class Mesh, class Found, class Dims>
struct layout_like;
template <class Mesh, class Found, class... D>
struct layout_like<Mesh, Found, list<D...>> {
  template <class X>
  using axes_of = std::make_index_sequence<static_cast<std::size_t>(Found::value.split_of(X::id, X::kin).size)>;
  using type =
      typename layout_of_splits<Mesh, concat_t<typename split_like<Mesh, Found, D, axes_of<D>>::type...>>::type;
};

// The search ----------------------------------------------------------------------------------------------------------

/// A program_outline as a constant. What there is no room for makes bounds lower, which they may be.
struct constant_outline {
  std::size_t dim_count = 0, work_count = 0, gradient_count = 0;
  std::array<program_outline::dimension_of, 32> dims{};
  std::array<program_outline::work, 128> works{};
  std::array<program_outline::gradient, 128> gradients{};

  constexpr explicit constant_outline(program_outline const& from) {
    for (auto const& d : from.dims) dims[dim_count++] = d;
    for (auto const& w : from.works)
      if (work_count < works.size()) works[work_count++] = w;
    for (auto const& g : from.gradients)
      if (gradient_count < gradients.size()) gradients[gradient_count++] = g;
  }
  [[nodiscard]] constexpr program_outline program() const {
    program_outline p;
    for (std::size_t i = 0; i < dim_count; ++i) p.dims.push_back(dims[i]);
    for (std::size_t i = 0; i < work_count; ++i) p.works.push_back(works[i]);
    for (std::size_t i = 0; i < gradient_count; ++i) p.gradients.push_back(gradients[i]);
    return p;
  }
};
/// layout_search::listed_layouts as a constant.
struct constant_list {
  static constexpr std::size_t most = 1024;
  std::uint64_t layouts = 0;
  std::size_t count = 0;
  std::array<layout_search::open_layout, most> open{};

  constexpr explicit constant_list(layout_search::listed_layouts const& from) : layouts(from.layouts) {
    for (auto const& l : from.open) open[count++] = l;
  }
};

/// The plans that the compiler makes at most: each leaves some 40 MB behind that GCC does not give back.
inline constexpr std::size_t most_plans = 64;

/// A search that stopped, or is done. Found, if any, is `best`.
struct stopped_search {
  bool begun = false, done = false, found = false;
  layout_value asked{};      // to be priced next
  bool on_one_axis = false;  // and what is asked of it
  layout_value best{};
  double seconds = 0;
  std::uint64_t bytes_sent = 0, memory = 0, tried = 0, refused = 0;
  layout_search::waiting_layout current{};
  std::size_t open_count = 0, alone_count = 0;
  std::array<layout_search::waiting_layout, constant_list::most> open{};
  std::array<layout_search::alone_of, most_plans + max_axes> alone{};
};

/// A search of which each plan is a constant of its own, since compilers bound the steps of one: so is the search
/// between two plans.
template <class Mesh, class Pinned, machine_description const& Machine, least Of, completed_gradients When, class Split,
          class Update, class F, class... In>
struct search_by_compiler {
  using dims = dims_of_program<Pinned, In...>;

  static constexpr machine_description best_machine = at_best(Machine);
  static constexpr layouts_to_search among() {
    layouts_to_search a;
    a.mesh = value_of<Pinned>.mesh;
    a.of = Of;
    a.wanted = 1;
    a.completed = When;
    return a;
  }
  static constexpr constant_outline outline{outline_of<Update, In...>(F{}, best_machine, 1)};
  static constexpr constant_list make_list() {
    auto program = outline.program();
    for (auto& d : program.dims)
      if (!is_in(d.id, dims{})) d.there = {};
    auto a = among();
    a.pinned.push_back(value_of<Pinned>);
    return constant_list(layout_search(program, Machine, best_machine, a, false).listed(constant_list::most));
  }
  static constexpr constant_list list_of_layouts = make_list();
  // False after the compiler has said what is no constant expression.
  static constexpr bool has_run = requires { typename std::bool_constant<(list_of_layouts.layouts > 0)>; };

  /// Goes on from `s`, which asked for this plan.
  static constexpr stopped_search go_on(stopped_search const& s, priced_plan const& plan) {
    auto const program = outline.program();
    auto const a = among();
    stopped_search next;
    bool asked = !s.begun;
    auto const price = [&](std::vector<layout_value> const& layouts, asked_plan const& of) {
      if (!asked) {
        asked = true;
        return plan;
      }
      next.asked = layouts.front();
      next.on_one_axis = of.on_one_axis;
      return priced_plan{.known = false};
    };
    layout_search search(program, Machine, best_machine, a, false);
    next.done = search.resume(list_of_layouts, s, price);
    search.store(next);
    return next;
  }
  template <class... D>
  static constexpr bool is_in(std::uint64_t id, list<D...>) {
    return ((D::id == id) || ...);
  }

  template <std::size_t N>
  static constexpr priced_plan plan_it() {
    if constexpr (state<N>.on_one_axis)
      return priced(
          plan_under<completed_gradients::later, state_split_over<>, backward_alone>(F{}, state<N>.asked, In{}...),
          Machine);
    else
      return priced(plan_under<When, Split, Update>(F{}, state<N>.asked, In{}...), Machine);
  }
  /// What a rule refuses is no constant expression: it throws.
  template <std::size_t N>
  static constexpr priced_plan answer() {
    if constexpr (requires { typename std::bool_constant<(plan_it<N>(), true)>; })
      return plan_it<N>();
    else
      return {.refused = true};
  }
  // With the first N plans.
  template <std::size_t N>
  static constexpr stopped_search make_state() {
    if constexpr (N == 0)
      return go_on({}, {});
    else
      return go_on(state<N - 1>, answer<N - 1>());
  }
  template <std::size_t N>
  static constexpr stopped_search state = make_state<N>();
  template <std::size_t N>
  struct found {
    static constexpr layout_value value = state<N>.best;
  };
  template <std::size_t N = 0>
  static constexpr auto run() {
    constexpr auto const& s = state<N>;
    if constexpr (!s.done && N == most_plans) {
      using checked [[maybe_unused]] = checked_t<error_too_many_layouts<N>>;
      return chosen_layout<Pinned>{};
    } else if constexpr (!s.done) {
      return run<N + 1>();
    } else if constexpr (!s.found) {
      using checked [[maybe_unused]] = checked_t<error_no_layout_fits<Mesh>>;
      return chosen_layout<Pinned>{};
    } else {
      return chosen_layout<typename layout_like<Mesh, found<N>, dims>::type>{
          s.seconds, s.bytes_sent, s.memory, list_of_layouts.layouts, s.tried, s.refused};
    }
  }
};

/// A mesh, or a layout of which all rules are part of each layout.
template <class On>
struct pinned_rules {
  using mesh = On;
  using rules = layout<On>;
};
template <class Mesh, class... S>
struct pinned_rules<layout<Mesh, S...>> {
  using mesh = Mesh;
  using rules = layout<Mesh, S...>;
};
template <class Mesh>
using mesh_verdict_of = std::conditional_t<is_mesh<Mesh>, ok, error_not_a_mesh<Mesh>>;

}  // namespace detail

/// The layout under which a program takes the least on a machine, found by the compiler, and what it takes: `constexpr
/// auto best = mtf::best_layout_of<mtf::mesh<data, model>, h100>(doubled, mtf::input<float, batch, pixels>{})`. The
/// machine is a constexpr variable. What follows it, and what is given in parentheses, is as for mtf::plan_of: a
/// training step if parameters come first. In place of a mesh a layout may stand: its rules are part of each layout.
/// Looked at are all layouts on that mesh of the dimensions that the parameters and inputs have; others stay whole. As
/// exact as mtf::search_layouts, whose bounds it has. What a rule refuses is no constant expression, and is left out; a
/// plan that takes more steps than the compiler allows would look the same, so `refused` says how many there were.
///
/// Each plan that the search makes takes the compiler about as long as mtf::plan_of, and as much of its memory: a third
/// of a second and 36 MB for the example's model. The better a machine's speed at its best says what a program takes
/// there, the fewer there are: on two axes some 4 where work takes most of the time, 16 where latencies do. Keep it in
/// a translation unit of its own. Refused, besides what mtf::plan_of refuses: more than 1024 layouts, or 64 plans; a
/// program that does not fit the machine's memory under any.
template <class On, machine_description const& Machine, least Of = least::seconds,
          completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr auto best_layout_of(F, In...) {
  using pinned = detail::pinned_rules<On>;
  using verdict = detail::first_failed_t<detail::mesh_verdict_of<typename pinned::mesh>, detail::captures_nothing_t<F>,
                                         decltype(detail::program_verdict<any_layout<>, F, In...>())>;
  using checked1 [[maybe_unused]] = checked_t<verdict>;
  if constexpr (!verdict::value) {
    return chosen_layout<layout<mesh<>>>{};
  } else {
    using search = detail::search_by_compiler<typename pinned::mesh, typename pinned::rules, Machine, Of, When, Split,
                                              Update, F, In...>;
    if constexpr (!search::has_run) {
      return chosen_layout<typename pinned::rules>{};
    } else {
      constexpr std::size_t most = detail::constant_list::most;
      using fits = std::conditional_t<search::list_of_layouts.layouts <= most, ok, error_too_many_layouts<most>>;
      using checked2 [[maybe_unused]] = checked_t<fits>;
      if constexpr (fits::value)
        return search::run();
      else
        return chosen_layout<typename pinned::rules>{};
    }
  }
}

/// That layout: `using fastest = mtf::best_layout<mtf::mesh<data, model>, h100, function, mtf::input<float, batch,
/// pixels>>`.
template <class On, machine_description const& Machine, class F, class... In>
using best_layout = typename decltype(best_layout_of<On, Machine>(F{}, In{}...))::layout;

}  // namespace mtf
