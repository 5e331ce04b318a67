#pragma once
// What all optimizers have in common: once per step they reduce the gradients and update the parameters. A parameter
// without a gradient is left alone. A parameter whose memory a copy of the tensor shares gets memory of its own first:
// tensors are values. An optimizer is this frame with a rule (mtf/train/optimizers.hpp): its options, what it keeps for
// each tensor, and the update of one tensor.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/optimizer.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/fixed_string.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/model_types.hpp>  // IWYU pragma: keep
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/ops/create/random.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/train/global_norm.hpp>

namespace mtf::detail {

/// Kept for each tensor: a tensor like it, or like the part of it that a rank updates. `Name`: what it has in
/// checkpoints.
template <fixed_string Name>
struct kept_like_it {
  static constexpr char const* name() { return Name.chars; }
  template <class X, class Split, class State>
  using type = typename state_split<X, Split>::template tensor<State>;
};
/// Instead of a tensor, where nothing is kept.
struct not_kept {};

template <class Kept, template <class...> class Tensor, class Split, class Model>
struct state_of {
  template <class... D>
  using tensor = typename Kept::template type<Tensor<D...>, Split,
                                              typename Model::template state<typename Tensor<D...>::element_type>>;
};
template <class Kept, class Params, class Split>
struct states_of {
  using type = refused;
};
template <class Kept, template <template <class...> class> class Structure, template <class...> class Tensor,
          class Split>
struct states_of<Kept, Structure<Tensor>, Split> {
  using type = Structure<state_of<Kept, Tensor, Split, model_types<Structure<Tensor>>>::template tensor>;
};
/// For each tensor of a structure, what `Kept` says.
template <class Kept, class Params, class Split = state_split_over<>>
using state_t = typename states_of<Kept, Params, Split>::type;

/// For each tensor, how many updates it had: fewer than others if it got no gradient in some steps. `raised`: by the
/// last one.
struct update_count {
  int value = 0;
  bool raised = false;
};
template <class...>
using update_count_of = update_count;
template <class Params>
struct update_counts_of {
  using type = refused;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor>
struct update_counts_of<Structure<Tensor>> {
  using type = Structure<update_count_of>;
};

template <class X>
inline constexpr bool is_kept = !std::is_same_v<X, not_kept>;

/// To be called before a tensor is written: if something else holds its memory too, it gets a copy.
template <class X>
constexpr void make_own(X& x) {
  if constexpr (is_kept<X>) {
    if (x.empty()) return;  // as state whose parameter's extents say that it is not kept
    using T = typename X::element_type;
    auto const& memory = x.value().memory;
    auto const place = place_of(x);
    if (!memory.unique()) x = place.tensor(value<typename X::backend_type, T>(copy_of<T>(memory, place.local_size())));
  }
}

template <class Part, class State>
inline constexpr bool is_like = std::is_same_v<typename Part::shape_type, typename State::shape_type>;
template <class Part>
inline constexpr bool is_like<Part, not_kept> = false;

/// An optimizer's state is split by the layouts that the backend was given. So must a parameter be: where the layout is
/// a type, the compiler checks it.
template <class Part, class State>
constexpr void check_state([[maybe_unused]] char const* optimizer, [[maybe_unused]] path const& name,
                           [[maybe_unused]] Part const& part, [[maybe_unused]] State const& state) {
  if constexpr (by_value<Part> && is_like<Part, State>) {
    if (!state.empty())
      check_extents<typename Part::shape_type>(optimizer, name, part.where().spec, state.where().spec);
    if (!state.empty() && !(part.where().spec == state.where().spec))
      throw user_error(std::string(optimizer) + ": the parameter " + name.text() +
                       " is not sharded as its layout says, under which the optimizer made its state; mtf::relayout "
                       "it before the first update");
  }
}

/// What a parameter's group says of it.
struct group_numbers {
  double rate = 1;
  bool decays = false, frozen = false;
};
/// The same, as the optimizer's `Decay` says; on a trace, whose numbers do not matter, nothing.
template <class Backend, class Decay, class X>
constexpr group_numbers group_of([[maybe_unused]] Decay const& decay, [[maybe_unused]] path const& name,
                                 [[maybe_unused]] X const& x) {
  group_numbers group;
  if constexpr (Backend::holds_data) {
    std::string const text = name.text();
    group.decays = decay.decays(std::string_view(text), x);
    if constexpr (requires { decay.rate(std::string_view(text)); }) group.rate = decay.rate(std::string_view(text));
    if constexpr (requires { decay.frozen(std::string_view(text)); })
      group.frozen = decay.frozen(std::string_view(text));
  }
  return group;
}

/// Neither infinite nor NaN. (std::isfinite is not constexpr in C++20.)
constexpr bool is_finite(double x) { return x - x == 0; }

/// What an optimizer's rule is told of the update of one tensor: the numbers that are its own.
template <class Options>
struct one_update {
  Options const& options;
  double learning_rate, weight_decay;
  double const* grad_scale;  // in the backend's memory: NaN where nothing is to be updated
  int updates;               // of this tensor, with this one
  primitives::draws random;
};

/// Where the random numbers of an update come from.
template <class Backend, class Part>
constexpr primitives::draws draws_for([[maybe_unused]] Backend& b, [[maybe_unused]] path const& name,
                                      [[maybe_unused]] Part const& part, [[maybe_unused]] int updates) {
  if constexpr (Backend::holds_data) {
    return {placement_of(place_of(part).spec(), b.ranks().mesh(), b.ranks().rank()),
            random_key(0).of(name.text()).of(static_cast<std::uint64_t>(updates)).bits()};
  } else {
    return {};
  }
}

/// The update of a rule that has a formula for one element, of mtf/math/updates.hpp.
template <class Rule>
struct element_by_element {
  /// `p`: the rank's part of the parameter, which is split as g is.
  template <class Backend, class Options, class P, class Part, class... Kept>
  static constexpr void update(Backend& b, one_update<Options> const& u, P* p, Part const& g, Kept&... kept) {
    using A = compute_t<P>;
    auto const formula = Rule::template formula<Backend, A>(u);
    primitives::update<std::remove_const_t<decltype(formula)>, P, typename Part::element_type,
                       typename first_t<Kept...>::element_type>
        step{place_of(g).local_size(), p, g.value().data(), {}, formula, u.grad_scale, u.random};
    int k = 0;  // not by braces: nvcc 13.0 loses a pack that is expanded inside of two
    ((step.state[k++] = kept.value().data()), ...);
    b.run(step);
  }
};

/// The gradients of these parameters: what walks both asks each field of the other.
template <class Params, class Gradients>
inline constexpr bool are_gradients_of = std::is_same_v<Params, refused> || std::is_same_v<Gradients, refused>;
template <template <template <class...> class> class Structure, template <class...> class Tensor,
          template <class...> class Gradient>
inline constexpr bool are_gradients_of<Structure<Tensor>, Structure<Gradient>> = is_gradient<Gradient<>>;

template <class Rule, class Params, class Split, class Kept>
struct kept_by_rule;
template <class Rule, class Params, class Split, class... Kept>
struct kept_by_rule<Rule, Params, Split, list<Kept...>> {
  using type = std::tuple<state_t<Kept, Params, Split>...>;
  static constexpr std::size_t size = sizeof...(Kept);
  static constexpr char const* name(std::size_t i) {
    char const* const names[] = {Kept::name()...};
    return names[i];
  }
};

/// Any optimizer: a rule for parameters of a structure. `Decay` says by name and tensor which parameters decay
/// (decay_weights, parameter_groups). Its state is split like the parameters, and further as `Split` says, a
/// state_split_over, in the elements that the parameters' precision says. A copy of an optimizer is one of its own.
template <class Rule, class Params, class Decay, class Split>
class optimizer {
  using state = kept_by_rule<Rule, Params, Split, typename Rule::kept>;
  using each = std::make_index_sequence<state::size>;

 public:
  using checked = checked_t<parameters_verdict_t<Params>>;
  using options_type = typename Rule::options;

  template <class Backend>
  constexpr optimizer(Backend& b, options_type options, Decay decay = {}) : options_(options), decay_(decay) {
    make(b, each{});
  }

  /// One update; returns the gradients' global norm before clipping. In place, except where someone else holds a
  /// parameter's memory: that memory stays as it was. A parameter whose gradient is zero, since nothing flowed there,
  /// stays with its state as it is, and counts no step; if the norm is not finite, all do. Gradients may have another
  /// element type than the parameters. Reduces each gradient: one all-reduce a tensor over the axes over which it is
  /// partial. Where the state is split further: a reduce-scatter, and an all-gather of the updated parameter. The host
  /// reads the norm when it has asked for all of this work, which finds itself what to clip and whether to do nothing.
  template <class Backend, class Gradients>
  constexpr double update(Backend& b, Params& params, Gradients const& gradients, double learning_rate) {
    if constexpr (are_gradients_of<Params, Gradients>) {
      backend::during<Backend> const update(b, pass::update);
      auto const squares = backend::make_buffer<double>(b, 1);
      auto const grad_scale = clip(b, gradients, backend::data_of<double>(squares));
      update_each(b, params, gradients, learning_rate, backend::data_of<double>(grad_scale), each{});
      double const norm = norm_of(b, backend::data_of<double>(squares));
      if constexpr (Backend::holds_data)
        if (!is_finite(norm)) take_back_counts(b);
      return norm;
    } else {
      static_assert(never<Gradients>,
                    "mtf: an optimizer takes the gradients of its own parameters, gradients_t<parameters>, with all of "
                    "their fields, as mtf::value_and_grad(f)(parameters) gives them");
      return 0;
    }
  }

  /// Calls f(suffix, structure) for what it keeps, which has a value for each parameter, to be stored and restored: of
  /// tensors, such as PyTorch's "exp_avg" and "exp_avg_sq", and "step", the count of a parameter's updates.
  template <class F>
  void visit_state(F&& f) {
    visit(f, each{});
    f("step", updates_);
  }

 private:
  template <class Backend, std::size_t... I>
  constexpr void make(Backend& b, std::index_sequence<I...>) {
    auto const zero = [&](auto const&, auto& x) {
      using X = std::remove_cvref_t<decltype(x)>;
      if constexpr (is_kept<X>)
        if (is_kept_on<X>(b)) x = zeros<X>(b);
    };
    (walk_tensors(b, zero, std::get<I>(kept_)), ...);
  }
  template <class F, std::size_t... I>
  void visit(F& f, std::index_sequence<I...>) {
    (f(state::name(I), std::get<I>(kept_)), ...);
  }
  /// The sum of the gradients' squares, and what they are multiplied by: NaN where nothing is to be updated.
  template <class Backend, class Gradients>
  constexpr backend::buffer<Backend> clip(Backend& b, Gradients const& gradients, double* squares) {
    backend::operation<Backend> const here(b, "global_norm", sharding_of<shape<>, layout<mesh<>>>);
    sum_squares<Split>(b, gradients, squares);
    auto grad_scale = backend::make_buffer<double>(b, 1);
    b.run(primitives::clip_factor{squares, backend::data_of<double>(grad_scale), options_.clip_norm});
    return grad_scale;
  }
  template <class Backend, class Gradients, std::size_t... I>
  constexpr void update_each(Backend& b, Params& params, Gradients const& gradients, double learning_rate,
                             double const* grad_scale, std::index_sequence<I...>) {
    walk_tensors(
        b,
        [&](path const& name, auto& p, auto const& g, auto& updates, auto&... kept) {
          updates.raised = false;
          if (g.is_zero()) return;
          backend::operation<Backend> const here(b, Rule::name, place_of(p).spec());
          check_extents<typename std::remove_cvref_t<decltype(p)>::shape_type>(Rule::name, name, place_of(p).spec(),
                                                                               g.place().spec());
          auto const part = g.template part<Split>();
          (check_state(Rule::name, name, part, kept), ...);
          group_numbers const group = group_of<Backend>(decay_, name, p);
          if (!group.frozen) make_own(p);
          auto const mine = part_of_parameter<Split>(p);
          if (!group.frozen) {
            ++updates.value;
            updates.raised = true;
            (make_own(kept), ...);
            one_update<options_type> const u{options_,
                                             learning_rate * group.rate,
                                             group.decays ? options_.weight_decay : 0.0,
                                             grad_scale,
                                             updates.value,
                                             draws_for(b, name, part, updates.value)};
            Rule::update(b, u, data_of<typename std::remove_cvref_t<decltype(p)>::element_type>(mine), part, kept...);
          }
          share_parts<Split>(p, mine, name.names());
        },
        params, gradients, updates_, std::get<I>(kept_)...);
  }

  /// Nothing was updated after all.
  template <class Backend>
  void take_back_counts(Backend& b) {
    walk_tensors(b, [](auto const&, auto& updates) { updates.value -= updates.raised ? 1 : 0; }, updates_);
  }

  options_type options_;
  Decay decay_;
  typename state::type kept_;
  typename update_counts_of<Params>::type updates_;
};

}  // namespace mtf::detail
