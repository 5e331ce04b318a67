#pragma once
// Optimizers: once per step they reduce the gradients and update the parameters. A parameter without a gradient is left
// alone. A parameter whose memory a copy of the tensor shares gets memory of its own first: tensors are values.
#include <string>
#include <string_view>
#include <type_traits>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/autodiff/value_and_grad.hpp>
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/primitives/optimizer.hpp>
#include <mtf/backend/scope.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/verdict.hpp>
#include <mtf/detail/tape/value.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/math/fast_math.hpp>
#include <mtf/ops/create/constants.hpp>
#include <mtf/tensor/params.hpp>
#include <mtf/train/global_norm.hpp>

namespace mtf {

namespace detail {

/// State that an optimizer keeps for a tensor: split like it and further, in its compute type.
template <template <class...> class Tensor, class Split>
struct state_of {
  template <class X>
  using like = typename state_split<X, Split>::template tensor<compute_t<typename X::element_type>>;
  template <class... D>
  using tensor = like<Tensor<D...>>;
};
template <class Params, class Split>
struct states_of {
  using checked = checked_t<parameters_verdict_t<Params>>;
  using type = refused;
};
template <template <template <class...> class> class Structure, template <class...> class Tensor, class Split>
struct states_of<Structure<Tensor>, Split> {
  using type = Structure<state_of<Tensor, Split>::template tensor>;
};
template <class Params, class Split>
using state_t = typename states_of<Params, Split>::type;

/// For each tensor, how many updates it had: fewer than others if it got no gradient in some steps.
struct update_count {
  int value = 0;
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

/// To be called before a tensor is written: if something else holds its memory too, it gets a copy.
template <class X>
constexpr void make_own(X& x) {
  using T = typename X::element_type;
  auto const& memory = x.value().memory;
  auto const place = place_of(x);
  if (!memory.unique()) x = place.tensor(value<typename X::backend_type, T>(copy_of<T>(memory, place.local_size())));
}

/// An optimizer's state lies as the layouts say that the backend was given: the compiler sees to it that a parameter
/// does too, but where the layout is a value.
template <class Part, class State>
constexpr void check_state([[maybe_unused]] char const* optimizer, [[maybe_unused]] path const& name,
                           [[maybe_unused]] Part const& part, [[maybe_unused]] State const& state) {
  if constexpr (by_value<Part>)
    if (!(part.where().spec == state.where().spec))
      throw user_error(std::string(optimizer) + ": the parameter " + name.text() +
                       " lies otherwise than its layout says, under which the optimizer made its state; mtf::relayout "
                       "it before the first update");
}

/// Whether a parameter decays; on a trace, whose numbers do not matter, none does.
template <class Backend, class Decay, class X>
constexpr bool decays([[maybe_unused]] Decay const& decay, [[maybe_unused]] path const& name,
                      [[maybe_unused]] X const& x) {
  if constexpr (Backend::holds_data)
    return decay.decays(std::string_view(name.text()), x);
  else
    return false;
}

/// Neither infinite nor NaN. (std::isfinite is not constexpr in C++20.)
constexpr bool is_finite(double x) { return x - x == 0; }

/// 1 / (1 - beta^updates); nothing on a trace, whose numbers do not matter.
template <class Backend>
constexpr double bias_correction([[maybe_unused]] double beta, [[maybe_unused]] int updates) {
  if constexpr (Backend::holds_data)
    return 1 / (1 - math::library_pow(beta, updates));
  else
    return 1;
}

/// min(1, limit / norm), as in PyTorch; a limit of 0 clips nothing.
constexpr double clip_factor(double limit, double norm) {
  double const factor = limit / (norm + 1e-6);
  return limit > 0 && factor < 1 ? factor : 1.0;
}

}  // namespace detail

/// Which parameters decay: weights, neither biases nor the scales of norms. Dimensions alone do not tell, as biases may
/// have several: a parameter of two or more decays unless its last name, as in "blocks.3.bq", is `b`, `bias`, `beta`,
/// `gamma` or `scale`, by itself, with one more letter, or with a digit or _ and anything: b1, bq, b_out, gamma_f. For
/// another rule give the optimizer a class with such a function.
struct decay_weights {
  /// Whether the parameter of this name, a tensor of type X, decays.
  template <class X>
  static constexpr bool decays(std::string_view name, X const&) {
    return X::shape_type::ndim >= 2 && !is_bias_or_scale(name.substr(name.rfind('.') + 1));
  }

 private:
  static constexpr bool is_bias_or_scale(std::string_view last) {
    for (std::string_view const word : {"b", "bias", "beta", "gamma", "scale"}) {
      if (!last.starts_with(word)) continue;
      auto const rest = last.substr(word.size());
      if (rest.size() <= 1 || rest[0] == '_' || (rest[0] >= '0' && rest[0] <= '9')) return true;
    }
    return false;
  }
};

/// What adamw is constructed with. The learning rate is given to each update.
struct adamw_options {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_norm = 0;  // gradients are scaled down to this global norm; 0: never
};

/// Adam with decoupled weight decay and bias correction (Loshchilov & Hutter 2019). `Decay` says by name and tensor
/// which parameters decay. Its state is split like the parameters, and further as `Split` says, a state_split_over. A
/// copy of an optimizer is one of its own.
///
/// Of bfloat16 parameters the state is float, and an update is computed in float and rounded once; there is no second
/// copy of them in float, unless their `precision` says so. Sums of bfloat16 gradients between ranks are taken in float
/// and rounded once, between threads and through a node's shared memory, but by MPI after each pair.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class adamw {
 public:
  template <class Backend>
  constexpr adamw(Backend& b, adamw_options options, Decay decay = {}) : options_(options), decay_(decay) {
    for (auto* s : {&first_, &second_})
      detail::walk_tensors(b, [&](auto const&, auto& x) { x = zeros<std::remove_cvref_t<decltype(x)>>(b); }, *s);
  }

  /// One update; returns the gradients' global norm before clipping. In place, but where someone else holds a
  /// parameter's memory, who keeps it as it was. A parameter whose gradient is zero, since nothing flowed there, stays
  /// with its state as it is, and counts no step; if the norm is not finite, all do. Completes each gradient: one
  /// all-reduce a tensor over the axes over which it is partial. Where the state is split further: a reduce-scatter,
  /// and an all-gather of the updated parameter.
  template <class Backend, class Gradients>
  constexpr double update(Backend& b, Params& params, Gradients const& gradients, double learning_rate) {
    double const norm = global_norm<Split>(b, gradients);
    if (!detail::is_finite(norm)) return norm;
    backend::during<Backend> const update(b, pass::update);
    double const factor = detail::clip_factor(options_.clip_norm, norm);
    detail::walk_tensors(
        b,
        [&](detail::path const& name, auto& p, auto const& g, auto& m, auto& v, auto& updates) {
          if (g.is_zero()) return;
          using X = std::remove_cvref_t<decltype(p)>;
          using T = typename X::element_type;
          using A = compute_t<T>;
          backend::operation<Backend> const here(b, "adamw", detail::place_of(p).spec());
          auto const part = g.template part<Split>();
          detail::check_state("adamw", name, part, m);
          double const decay = detail::decays<Backend>(decay_, name, p) ? options_.weight_decay : 0;
          ++updates.value;
          double const correction1 = detail::bias_correction<Backend>(options_.beta1, updates.value);
          double const correction2 = detail::bias_correction<Backend>(options_.beta2, updates.value);
          detail::make_own(p);
          detail::make_own(m);
          detail::make_own(v);
          b.run(primitives::adamw<T, typename decltype(part)::element_type>{
              detail::place_of(part).local_size(), detail::part_of_parameter<Split>(p), m.value().data(),
              v.value().data(), part.value().data(), static_cast<A>(learning_rate), static_cast<A>(options_.beta1),
              static_cast<A>(options_.beta2), static_cast<A>(options_.epsilon), static_cast<A>(decay),
              static_cast<A>(correction1), static_cast<A>(correction2), static_cast<A>(factor)});
          detail::share_parts<Split>(p, name.names());
        },
        params, gradients, first_, second_, updates_);
    return norm;
  }

  /// Calls f(suffix, structure) for what it keeps, which has a value for each parameter, to be stored and restored:
  /// PyTorch's names "exp_avg" and "exp_avg_sq", of tensors, and "step", of numbers.
  template <class F>
  void visit_state(F&& f) {
    f("exp_avg", first_);
    f("exp_avg_sq", second_);
    f("step", updates_);
  }

 private:
  adamw_options options_;
  Decay decay_;
  detail::state_t<Params, Split> first_, second_;
  typename detail::update_counts_of<Params>::type updates_;
};

/// What sgd is constructed with. The learning rate is given to each update; `clip_norm` as for adamw.
struct sgd_options {
  double momentum = 0;
  double weight_decay = 0;
  double clip_norm = 0;
};

/// Stochastic gradient descent with momentum: u = momentum u + g + decay p, p = p - rate u. `Decay`, `Split`, copies
/// and bfloat16 as for adamw.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class sgd {
 public:
  template <class Backend>
  constexpr sgd(Backend& b, sgd_options options, Decay decay = {}) : options_(options), decay_(decay) {
    detail::walk_tensors(b, [&](auto const&, auto& x) { x = zeros<std::remove_cvref_t<decltype(x)>>(b); }, momentum_);
  }

  /// One update; returns the gradients' global norm before clipping. What it writes, leaves alone and sends: as for
  /// adamw.
  template <class Backend, class Gradients>
  constexpr double update(Backend& b, Params& params, Gradients const& gradients, double learning_rate) {
    double const norm = global_norm<Split>(b, gradients);
    if (!detail::is_finite(norm)) return norm;
    backend::during<Backend> const update(b, pass::update);
    double const factor = detail::clip_factor(options_.clip_norm, norm);
    detail::walk_tensors(
        b,
        [&](detail::path const& name, auto& p, auto const& g, auto& u) {
          if (g.is_zero()) return;
          using X = std::remove_cvref_t<decltype(p)>;
          using T = typename X::element_type;
          using A = compute_t<T>;
          backend::operation<Backend> const here(b, "sgd", detail::place_of(p).spec());
          auto const part = g.template part<Split>();
          detail::check_state("sgd", name, part, u);
          double const decay = detail::decays<Backend>(decay_, name, p) ? options_.weight_decay : 0;
          detail::make_own(p);
          detail::make_own(u);
          b.run(primitives::sgd<T, typename decltype(part)::element_type>{
              detail::place_of(part).local_size(), detail::part_of_parameter<Split>(p), u.value().data(),
              part.value().data(), static_cast<A>(learning_rate), static_cast<A>(options_.momentum),
              static_cast<A>(decay), static_cast<A>(factor)});
          detail::share_parts<Split>(p, name.names());
        },
        params, gradients, momentum_);
    return norm;
  }

  /// As adamw's, of "momentum_buffer".
  template <class F>
  void visit_state(F&& f) {
    f("momentum_buffer", momentum_);
  }

 private:
  sgd_options options_;
  Decay decay_;
  detail::state_t<Params, Split> momentum_;
};

}  // namespace mtf
