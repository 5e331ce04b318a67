#pragma once
// The plan of a program: the program itself, executed by the compiler on the backend without data.
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <mtf/autodiff/as_computed.hpp>
#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/backend/trace.hpp>
#include <mtf/core/dim.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/limits.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/callable.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/core/sentence.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/plan/plan.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/tensor/place.hpp>
#include <mtf/train/decay_weights.hpp>
#include <mtf/train/global_norm.hpp>

namespace mtf {

/// A function that runs in a constant expression captures something.
template <class Function>
struct error_captures : detail::failed {};
/// plan_of is given a layout that is a value.
template <class Layout>
struct error_layout_is_a_value : detail::failed {};
/// plan_of is given an argument that stands for none of the function's.
template <class Given>
struct error_not_an_input : detail::failed {};
/// A plan has more than max_collectives collectives.
template <std::size_t Planned, std::size_t Most>
struct error_too_many_collectives : detail::failed {};
/// A layout splits a dimension that no tensor of the planned program has.
template <class Dim, class Layout>
struct error_unused_rule : detail::failed {};

namespace detail {

template <class F, class... By>
struct require<error_captures<F>, By...> {
  static_assert(
      never<F>,
      MTF_SENTENCE("mtf: a function that runs in a constant expression must capture nothing: pass what it needs as "
                   "arguments",
                   F));
};
template <class L, class... By>
struct require<error_layout_is_a_value<L>, By...> {
  static_assert(never<L>,
                MTF_SENTENCE("mtf: plan_of plans under a layout that is a type; under one that is a value plan by "
                             "mtf::plan_under(f, layout, inputs...)",
                             L));
};
template <class G, class... By>
struct require<error_not_an_input<G>, By...> {
  static_assert(never<G>, MTF_SENTENCE("mtf: plan_of takes, after the function, what stands for its arguments: "
                                       "mtf::parameters<structure>{} and mtf::input<element type, dimensions...>{}",
                                       G));
};
template <std::size_t Planned, std::size_t Most, class... By>
struct require<error_too_many_collectives<Planned, Most>, By...> {
  static_assert(
      Planned <= Most,
      "mtf: a plan has more collectives than mtf::max_collectives: make equal layers a std::array and apply them "
      "by mtf::scan, which plans them once; error_too_many_collectives<planned, most>");
};
template <class D, class L, class... By>
struct require<error_unused_rule<D, L>, By...> {
  static_assert(never<D, L>, MTF_SENTENCE(MTF_SAYS_UNUSED_RULE, D, L));
};

}  // namespace detail

/// Stands for the parameters of a planned program: `mtf::parameters<mlp>{}`. T: their element type, or their precision.
template <template <template <class...> class> class Structure, class T = float>
struct parameters {};

/// Plans a training step up to the reduction of its gradients, and what an optimizer sends.
struct without_update {};
/// Plans a whole training step with an optimizer, such as mtf::adamw: its state, its work, what it sends.
template <template <class... ParamsDecaySplit> class Optimizer>
struct updated_by {};

/// Stands for an input of a planned program: `mtf::input<float, batch, pixels>{}`.
template <class T, dimension... Dims>
struct input {};

namespace detail {

// Tensors for what stands for them.
template <class Place, class In>
struct stand_in;
template <class Place, template <template <class...> class> class Structure, class T>
struct stand_in<Place, parameters<Structure, T>> {
  Structure<Place::template rebound<T>::template tensor> value;
  constexpr explicit stand_in(trace& b) {
    walk_tensors(b, [&](auto const&, auto& x) { x = zeros<std::remove_cvref_t<decltype(x)>>(b); }, value);
  }
};
template <class Place, class T, class... D>
struct stand_in<Place, input<T, D...>> {
  typename Place::template rebound<T>::template tensor<D...> value;
  constexpr explicit stand_in(trace& b) : value(zeros<decltype(value)>(b)) {}
};

template <class X>
inline constexpr bool is_parameters = false;
template <template <template <class...> class> class Structure, class T>
inline constexpr bool is_parameters<parameters<Structure, T>> = true;

template <class X>
inline constexpr bool is_input = is_parameters<X>;
template <class T, class... D>
inline constexpr bool is_input<input<T, D...>> = true;

/// What the function gets for what stands for it.
template <class Layout, class In>
using planned_argument = decltype(stand_in<place<float, Layout, trace>, In>::value);

/// The verdict on a layout as a type.
template <class Layout>
using is_a_type_t = std::conditional_t<is_any_layout<Layout>, error_layout_is_a_value<Layout>, ok>;

/// The verdict on a function that is to run in a constant expression.
template <class F>
using captures_nothing_t =
    std::conditional_t<std::is_empty_v<F> && std::is_default_constructible_v<F>, ok, error_captures<F>>;

/// The verdict on a function that is to be planned, and what stands for its arguments.
template <class Layout, class F, class... In>
auto program_verdict() {
  using inputs = first_failed_t<std::conditional_t<is_input<In>, ok, error_not_an_input<In>>...>;
  if constexpr (!inputs::value)
    return inputs{};
  else if constexpr (!first_failed_t<fields_verdict_t<planned_argument<Layout, In>>...>::value)
    return first_failed_t<fields_verdict_t<planned_argument<Layout, In>>...>{};
  else if constexpr (sizeof...(In) > 0 && is_parameters<first_t<In..., void>>)
    return loss_verdict<F, planned_argument<Layout, In>...>();
  else
    return callable_t<F, planned_argument<Layout, In> const&...>{};
}

// What follows the backward pass.
template <class Params, class Split, class Update>
struct planned_update;
template <class Params, class Split>
struct planned_update<Params, Split, without_update> {
  constexpr explicit planned_update(trace&) {}
  constexpr void run(trace& b, Params& params, auto const& gradients) {
    global_norm<Split>(b, gradients);
    if constexpr (std::is_same_v<Split, state_split_over<>>) return;
    during<trace> const update(b, pass::update);
    walk_tensors(
        b,
        [](path const& name, auto& p, auto const& g) {
          if (!g.is_zero()) share_parts<Split>(p, part_of_parameter<Split>(p), name.names());
        },
        params, gradients);
  }
};
/// Nothing: a plan of collectives up to the end of the backward pass.
struct backward_alone {};
template <class Params, class Split>
struct planned_update<Params, Split, backward_alone> {
  constexpr explicit planned_update(trace& b) { b.record_no_work(); }
  constexpr void run(trace&, Params const&, auto const&) const {}
};
template <class Params, class Split, template <class...> class Optimizer>
struct planned_update<Params, Split, updated_by<Optimizer>> {
  Optimizer<Params, decay_weights, Split> optimizer;
  constexpr explicit planned_update(trace& b) : optimizer(b, {}) {}
  constexpr void run(trace& b, Params& params, auto const& gradients) { optimizer.update(b, params, gradients, 0); }
};

template <completed_gradients When, class Split, class Update, class Found, class F, class Params, class... Rest>
constexpr void planned_training(trace& b, F const& f, Params& params, Rest const&... rest) {
  planned_update<Params, Split, Update> update(b);  // its state is there from the start
  b.begin_step();
  differentiated_t<Found, Params> found;
  differentiate<Split>(When, f, std::as_const(params), found, rest...);
  update.run(b, params, found.gradients);
}
template <class... In>
inline constexpr bool is_a_step = is_parameters<first_t<In..., void>>;

/// The layers of which a plan may take one for the others.
template <class Update, class... In>
constexpr alike_layers layers_alike() {
  if (!is_a_step<In...>) return alike_layers::some;
  return std::is_same_v<Update, backward_alone> ? alike_layers::all : alike_layers::all_but_last;
}

/// Runs f on a trace. With parameters first it is a training step: backward, and what an optimizer sends; else a call.
/// (A constructor, called with braces: so x are made in their order, when the program runs as in constant expressions.)
template <completed_gradients When, class Split, class Update, class... In>
struct planned_step {
  template <class F, class... X>
  constexpr planned_step(trace& b, F const& f, X&&... x) {
    b.begin_step();
    if constexpr (is_a_step<In...>)
      train(b, f, x...);
    else
      static_cast<void>(f(std::as_const(x)...));
  }

 private:
  template <class F, class Params, class... Rest>
  static constexpr void train(trace& b, F const& f, Params& params, Rest const&... rest) {
    using result = std::remove_cvref_t<decltype(f(std::declval<as_computed_t<Params> const&>(), rest...))>;
    if constexpr (!std::is_same_v<result, refused>)
      planned_training<When, Split, Update, result>(b, f, params, rest...);
  }
};

template <class Layout, completed_gradients When, class Split, class Update, class F, class... In>
class planned_program {
  using mesh_type = typename Layout::mesh_type;
  static constexpr std::size_t most = max_collectives;
  struct recording {
    std::size_t size = 0, loop_count = 0, operations = 0;
    std::array<planned_collective, most> collectives{};
    std::array<planned_loop, most> loops{};
    std::array<planned_work, most> work{};
    std::uint64_t peak = 0, reordered = 0;
    std::size_t unused_rule = 0;
  };
  static constexpr recording run() { return on_trace(mesh_type::shape(), layers_alike<Update, In...>(), &record); }
  static constexpr recording record(trace& b) {
    planned_step<When, Split, Update, In...>{b, F{}, stand_in<place<float, Layout, trace>, In>(b).value...};
    recording r;
    if (b.planned().size() > most || b.loops().size() > most || b.work().size() > most) {
      r.size = b.planned().size() > most ? b.planned().size() : most + 1;
      return r;
    }
    for (auto const& c : b.planned()) r.collectives[r.size++] = c;
    for (auto const& l : b.loops())
      if (l.count > 1) r.loops[r.loop_count++] = l;
    for (auto const& w : b.work()) r.work[r.operations++] = w;
    r.peak = b.peak_bytes();
    r.reordered = b.reordered();
    for (auto const& rule : Layout::rules)
      if (b.has_seen(rule.dim))
        ++r.unused_rule;
      else
        break;
    return r;
  }
  // The name is part of what a compiler says when the function does something that no constant expression can do.
  static constexpr recording what_the_planned_function_does = run();

 public:
  // False after the compiler has said so.
  static constexpr bool has_run = requires { typename std::bool_constant<what_the_planned_function_does.size == 0>; };
  static constexpr std::size_t unused_rule() { return what_the_planned_function_does.unused_rule; }
  static auto fits() {
    constexpr std::size_t planned = what_the_planned_function_does.size;
    return std::conditional_t<planned <= most, ok, error_too_many_collectives<planned, most>>{};
  }
  static constexpr auto make() {
    constexpr auto& recorded = what_the_planned_function_does;
    plan<recorded.size, recorded.loop_count, recorded.operations> p{.mesh = mesh_type::shape(),
                                                                    .axis_names = value_of<Layout>.mesh.names};
    for (std::size_t i = 0; i < recorded.size; ++i) p.collectives[i] = recorded.collectives[i];
    for (std::size_t i = 0; i < recorded.loop_count; ++i) p.loops[i] = recorded.loops[i];
    for (std::size_t i = 0; i < recorded.operations; ++i) p.work[i] = recorded.work[i];
    p.peak_bytes = recorded.peak;
    p.reordered = recorded.reordered;
    return p;
  }
};

template <class Layout, std::size_t I>
struct rule_verdict {
  using type = ok;
};
template <class Mesh, class... Split, std::size_t I>
  requires(I < sizeof...(Split))
struct rule_verdict<layout<Mesh, Split...>, I> {
  using type = error_unused_rule<typename nth<I, Split...>::dim_type, layout<Mesh, Split...>>;
};

}  // namespace detail

/// The plan of f under a layout, as a constant: `constexpr auto plan = mtf::plan_of<where>(loss,
/// mtf::parameters<mlp>{}, mtf::input<float, batch, pixels>{}, mtf::input<std::int32_t, batch>{})`. With parameters
/// first, f is a loss, and the plan is that of a training step: forward, backward, and the reduction of the gradients,
/// by the optimizer or, with completed_gradients::overlapped after the layout, during the backward pass. If the
/// optimizer's state_split_over follows that, gradients are reduce-scattered, and all-gathers of the parameters are in
/// the plan; if then mtf::updated_by<mtf::adamw> does, also the optimizer's state and work. Without parameters it is
/// the plan of calling f. f is a function object without state, such as a lambda that captures nothing; it runs in a
/// constant expression. (Where one call has two arguments that both communicate, forward or backward, C++ leaves open
/// which comes first, and the plan may have them the other way round than the run: give them names.) Refused: a split
/// of the layout for a dimension that no tensor of the program has, a function that captures, other arguments than it
/// takes, a loss that is not a scalar tensor, any_layout.
template <layout_type Layout, completed_gradients When = completed_gradients::later, class Split = state_split_over<>,
          class Update = without_update, class F, class... In>
constexpr auto plan_of(F, In...) {
  using verdict = detail::first_failed_t<detail::is_a_type_t<Layout>, detail::captures_nothing_t<F>,
                                         decltype(detail::program_verdict<Layout, F, In...>())>;
  using program = detail::planned_program<Layout, When, Split, Update, F, In...>;
  using checked1 [[maybe_unused]] = checked_t<verdict>;
  if constexpr (!verdict::value) {
    return plan<0, 0>{};
  } else if constexpr (!program::has_run) {
    return plan<0, 0>{};
  } else if constexpr (!decltype(program::fits())::value) {
    using checked3 [[maybe_unused]] = checked_t<decltype(program::fits())>;
    return plan<0, 0>{};
  } else {
    using checked2 [[maybe_unused]] = checked_t<typename detail::rule_verdict<Layout, program::unused_rule()>::type>;
    return program::make();
  }
}

}  // namespace mtf
