#pragma once
// A task under layouts: what a program of the tools is compiled for. It needs the core alone.
#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

#include <mtf/checkpoint/config_values.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/mtf.hpp>

#include "step_options.hpp"
#include "task.hpp"

namespace mtf::tools {

/// The layouts that a task's dimensions may have, given as texts.
template <class Dimensions>
struct layouts_for;
template <template <class...> class List, class... Dims>
struct layouts_for<List<Dims...>> {
  template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
  using of = mtf::layout_of<Mesh, Rules, Dims...>;
  static mtf::layout_value from(mtf::mesh_value const& mesh, std::string const& rules) {
    return mtf::layout_from<Dims...>(mesh, rules);
  }
};

/// A state_split_over the dimensions of all inputs, each once: of ranks that hold the same parameters, and another part
/// of the batch, each has the optimizer's state of a part of them.
template <class Split, class... Dims>
struct split_further_over {
  using type = Split;
};
template <class... Done, class First, class... Rest>
struct split_further_over<mtf::state_split_over<Done...>, First, Rest...>
    : split_further_over<std::conditional_t<(std::is_same_v<First, Done> || ...), mtf::state_split_over<Done...>,
                                            mtf::state_split_over<Done..., First>>,
                         Rest...> {};
template <class Split, class... In>
struct split_over_inputs {
  using type = Split;
};
template <class Split, class T, mtf::dimension... Dims, class... Rest>
struct split_over_inputs<Split, mtf::input<T, Dims...>, Rest...>
    : split_over_inputs<typename split_further_over<Split, Dims...>::type, Rest...> {};

/// A list's types, as values: f(In{}...).
template <class Inputs>
struct each_input;
template <template <class...> class List, class... In>
struct each_input<List<In...>> {
  using state_split = typename split_over_inputs<mtf::state_split_over<>, In...>::type;
  static constexpr std::size_t count = sizeof...(In);
  static constexpr decltype(auto) pass_to(auto const& f) { return f(In{}...); }
};

/// The task with the upper half of its layers under a layout of its own; the task itself, if it has no such half.
template <class Task, class Layout>
struct with_upper {
  using type = Task;
};
template <class Task, class Layout>
  requires has_upper_layout<Task>
struct with_upper<Task, Layout> {
  using type = typename Task::template with_upper_layout<Layout>;
};

/// What dropout needs, or nothing.
struct no_noise {};
template <class Task>
struct noise_of_task {
  using type = no_noise;
};
template <class Task>
  requires has_noise<Task>
struct noise_of_task<Task> {
  using type = typename Task::noise;
};

/// Its numbers that are no sizes, or nothing.
struct no_settings {};
template <class Task>
struct settings_of_task {
  using type = no_settings;
};
template <has_settings Task>
struct settings_of_task<Task> {
  using type = typename Task::settings;
};
/// Those that a config says, which may be empty.
template <class Task>
typename settings_of_task<Task>::type settings_in([[maybe_unused]] mtf::config_values const& config) {
  if constexpr (has_settings<Task>)
    return Task::settings_from_config(config);
  else
    return {};
}

/// The types of a program: of the task under a layout, in float or in an mtf::precision. None, if it is not described.
template <class Task, class Layout, class Precision>
struct program_types {};
template <described Task, class Layout, class Precision>
struct program_types<Task, Layout, Precision> {
  using task = Task;
  using layout = Layout;
  using precision = Precision;
  using noise = typename noise_of_task<Task>::type;
  using inputs = each_input<typename Task::inputs>;
  using state_split = typename inputs::state_split;

  template <class Backend>
  using parameters_on = typename Task::template parameters<mtf::place<Precision, Layout, Backend>::template tensor>;
  template <class Backend>
  using batch_on = typename batch_at<typename Task::inputs, mtf::place<float, Layout, Backend>>::type;
  template <class Backend>
  using optimizer_on = mtf::adamw<parameters_on<Backend>, mtf::decay_weights, state_split>;

  static constexpr mtf::parameters<Task::template parameters, Precision> planned_parameters{};
  static constexpr auto gradients_are_completed = mtf::completed_gradients::overlapped;
};

/// The element type that a precision computes in, which need not be what parameters are stored in.
template <class Precision>
class computed_in {
  struct one : mtf::dim<"one", 1> {};
  template <template <class...> class Tensor>
  struct a_tensor {
    Tensor<one> x;
    MTF_FIELDS(x);
  };

 public:
  using type =
      typename decltype(mtf::as_computed_t<a_tensor<mtf::place<Precision, mtf::any_layout<>>::template tensor>>{}
                            .x)::element_type;
};

/// Ranks are processes.
struct ranks_as_processes {
  static constexpr bool are_threads = false;
};

/// A task's program that takes any mesh and layout on its command line.
template <class Task, class Precision = float>
struct under_any_layout
    : checked_task<Task, missing_in_description<Task>()>,
      program_types<typename with_upper<Task, mtf::any_layout<1>>::type, mtf::any_layout<0>, Precision> {
  using plain_task = Task;
  static constexpr bool takes_any_layout = true;
  static std::string mesh_text() { return "one:1"; }
  static std::string layout_text() { return ""; }
  static std::string upper_layout_text() { return ""; }
};

/// The same where a mesh and layouts are named by texts.
template <class Task>
struct typed_program {
  template <mtf::fixed_string Mesh, mtf::fixed_string Layout, class Precision, mtf::fixed_string Upper>
  using of = program_types<Task, void, Precision>;
};
template <described Task>
struct typed_program<Task> {
  using layouts = layouts_for<typename Task::dimensions>;
  template <class Layout, class Upper>
  using task = typename std::conditional_t<std::is_same_v<Layout, Upper>, std::type_identity<Task>,
                                           with_upper<Task, Upper>>::type;
  template <mtf::fixed_string Mesh, mtf::fixed_string Layout, class Precision, mtf::fixed_string Upper>
  using of =
      program_types<task<typename layouts::template of<Mesh, Layout>, typename layouts::template of<Mesh, Upper>>,
                    typename layouts::template of<Mesh, Layout>, Precision>;
};

/// A task's program for one mesh and layout, and one layout for the upper half of the layers if that is another.
template <class Task, mtf::fixed_string Mesh, mtf::fixed_string Layout, class Precision = float,
          mtf::fixed_string Upper = Layout>
struct under_layout : checked_task<Task, missing_in_description<Task>()>,
                      typed_program<Task>::template of<Mesh, Layout, Precision, Upper> {
  static_assert(!described<Task> || Layout.view() == Upper.view() || has_upper_layout<Task>,
                "mtf: a layout of its own for the upper half of the layers needs a task that has such a half: template "
                "<class Layout> using with_upper_layout");
  using plain_task = Task;
  using mesh = mtf::mesh_of<Mesh>;
  static constexpr bool takes_any_layout = false;
  static std::string mesh_text() { return std::string(Mesh.view()); }
  static std::string layout_text() { return std::string(Layout.view()); }
  static std::string upper_layout_text() { return std::string(Upper.view()); }
};

/// As the command line says.
inline mtf::completed_gradients when_completed(step_options const& o) {
  return o.gradients_overlap ? mtf::completed_gradients::overlapped : mtf::completed_gradients::later;
}

/// f<mtf::adamw>(), or another optimizer, as the command line says: each makes a program longer to compile, so only
/// executables that take any layout have others.
template <class Program, class F>
auto with_optimizer([[maybe_unused]] step_options const& o, F const& f) {
  if constexpr (Program::takes_any_layout) {
    if (o.optimizer == "adam") return f.template operator()<mtf::adam>();
    if (o.optimizer == "lion") return f.template operator()<mtf::lion>();
    if (o.optimizer == "adafactor") return f.template operator()<mtf::adafactor>();
    if (o.optimizer == "momentum") return f.template operator()<mtf::momentum>();
    if (o.optimizer == "sgd") return f.template operator()<mtf::sgd>();
  }
  return f.template operator()<mtf::adamw>();
}
/// f(state_split, or a state_split_over nothing), as the command line says. A state that is whole has other types where
/// the layout is one: only executables that take any layout have it.
template <class Program, class F>
auto with_state_split([[maybe_unused]] step_options const& o, F const& f) {
  if constexpr (Program::takes_any_layout)
    if (!o.state_is_split) return f(mtf::state_split_over<>{});
  return f(typename Program::state_split{});
}

/// The loss of a batch, or of a micro-batch, in training: of parameters and inputs, and before these what dropout
/// needs, if it is given. Only executables that take any layout can recompute.
template <class Program>
struct training_loss {
  using task = typename Program::task;
  using noise = typename Program::noise;
  bool recompute = false;
  typename settings_of_task<task>::type settings{};

  template <class Params, class First, class... In>
  constexpr auto operator()(Params const& p, First const& first, In const&... in) const {
    if constexpr (std::is_same_v<First, noise>)
      return of(p, first, in...);
    else
      return of(p, noise{}, first, in...);
  }

 private:
  constexpr auto of(auto const& p, noise const& n, auto const&... in) const {
    if constexpr (has_settings<task>)
      return with_noise(p, n, in..., settings);
    else
      return with_noise(p, n, in...);
  }
  constexpr auto with_noise(auto const& p, [[maybe_unused]] noise const& n, auto const&... in) const {
    if constexpr (Program::takes_any_layout && can_recompute<task>)
      return task::loss(p, in..., task::recomputed_if(recompute, n));
    else if constexpr (has_noise<task>)
      return task::loss(p, in..., n);
    else
      return task::loss(p, in...);
  }
};
/// The same as plans in constant expressions take it.
template <class Program>
struct planned_loss {
  constexpr auto operator()(auto const& p, auto const&... in) const { return training_loss<Program>{}(p, in...); }
};

/// The layouts of all layers, or of their lower and their upper half, as the command line says. What is wrong with
/// them: a user_error.
template <class Program>
std::array<mtf::layout_value, has_upper_layout<typename Program::plain_task> ? 2 : 1> layouts_of(
    step_options const& o) {
  using from = layouts_for<typename Program::plain_task::dimensions>;
  auto const mesh = mtf::mesh_from(o.mesh);
  if constexpr (has_upper_layout<typename Program::plain_task>)
    return {from::from(mesh, o.layout), from::from(mesh, o.upper_layout.value_or(o.layout))};
  else
    return {from::from(mesh, o.layout)};
}
}  // namespace mtf::tools
