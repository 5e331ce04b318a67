#pragma once
// Optimizers that look at one element of a parameter at a time: a formula (mtf/math/updates.hpp), options and what is
// kept. The rest is that of all optimizers (mtf/train/optimizer.hpp).
#include <mtf/autodiff/state_split.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/math/fast_math.hpp>
#include <mtf/math/updates.hpp>
#include <mtf/train/decay_weights.hpp>
#include <mtf/train/optimizer.hpp>

namespace mtf {

namespace detail {

/// 1 / (1 - beta^updates); nothing on a trace, whose numbers do not matter.
template <class Backend>
constexpr double bias_correction([[maybe_unused]] double beta, [[maybe_unused]] int updates) {
  if constexpr (Backend::holds_data)
    return 1 / (1 - math::library_pow(beta, updates));
  else
    return 1;
}

}  // namespace detail

/// What adamw is constructed with. The learning rate is given to each update.
struct adamw_options {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.01;
  double clip_norm = 0;  // gradients are scaled down to this global norm; 0: never
};

namespace detail {

struct adamw_rule : element_by_element<adamw_rule> {
  using options = adamw_options;
  using kept = list<kept_like_it<"exp_avg">, kept_like_it<"exp_avg_sq">>;
  static constexpr char const* name = "adamw";
  template <class Backend, class A>
  static constexpr updates::adamw<A> formula(one_update<options> const& u) {
    auto const& o = u.options;
    return {static_cast<A>(u.learning_rate),
            static_cast<A>(1 - o.beta1),
            static_cast<A>(1 - o.beta2),
            static_cast<A>(o.epsilon),
            static_cast<A>(u.weight_decay),
            static_cast<A>(bias_correction<Backend>(o.beta1, u.updates)),
            static_cast<A>(bias_correction<Backend>(o.beta2, u.updates))};
  }
};

}  // namespace detail

/// Adam with decoupled weight decay and bias correction (Loshchilov & Hutter 2019). `Decay` says by name and tensor
/// which parameters decay. Its state is split like the parameters, and further as `Split` says, a state_split_over; its
/// elements are what the parameters' `precision` says. A copy of an optimizer is one of its own.
///
/// Of bfloat16 parameters the state is float, and an update is computed in float and rounded once; there is no second
/// copy of them in float, unless their `precision` says so. Their gradients are bfloat16: sums between ranks are taken
/// in float and rounded once, between threads and through a node's shared memory, but by MPI after each pair.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class adamw : public detail::optimizer<detail::adamw_rule, Params, Decay, Split> {
 public:
  using detail::optimizer<detail::adamw_rule, Params, Decay, Split>::optimizer;
};

/// What adam is constructed with: Mesh-TensorFlow's defaults. `clip_norm` as for adamw.
struct adam_options {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6;
  double weight_decay = 0;
  double clip_norm = 0;
};

namespace detail {

struct adam_rule : element_by_element<adam_rule> {
  using options = adam_options;
  using kept = list<kept_like_it<"exp_avg">, kept_like_it<"exp_avg_sq">>;
  static constexpr char const* name = "adam";
  template <class Backend, class A>
  static constexpr updates::adamw<A> formula(one_update<options> const& u) {
    auto const& o = u.options;
    return {static_cast<A>(u.learning_rate),
            static_cast<A>(1 - o.beta1),
            static_cast<A>(1 - o.beta2),
            static_cast<A>(o.epsilon),
            static_cast<A>(u.weight_decay),
            static_cast<A>(1),
            static_cast<A>(1)};
  }
};

}  // namespace detail

/// Adam as Mesh-TensorFlow has it (AdamWeightDecayOptimizer, which is BERT's): decoupled weight decay, no bias
/// correction. `Decay`, `Split`, copies and bfloat16 as for adamw.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class adam : public detail::optimizer<detail::adam_rule, Params, Decay, Split> {
 public:
  using detail::optimizer<detail::adam_rule, Params, Decay, Split>::optimizer;
};

/// What sgd is constructed with. The learning rate is given to each update; `clip_norm` as for adamw.
struct sgd_options {
  double momentum = 0;
  double weight_decay = 0;
  double clip_norm = 0;
};

namespace detail {

struct sgd_rule : element_by_element<sgd_rule> {
  using options = sgd_options;
  using kept = list<kept_like_it<"momentum_buffer">>;
  static constexpr char const* name = "sgd";
  template <class Backend, class A>
  static constexpr updates::sgd<A> formula(one_update<options> const& u) {
    auto const& o = u.options;
    return {static_cast<A>(u.learning_rate), static_cast<A>(o.momentum), static_cast<A>(u.weight_decay)};
  }
};

}  // namespace detail

/// Stochastic gradient descent with momentum: u = momentum u + g + decay p, p = p - rate u. `Decay`, `Split`,
/// copies and bfloat16 as for adamw.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class sgd : public detail::optimizer<detail::sgd_rule, Params, Decay, Split> {
 public:
  using detail::optimizer<detail::sgd_rule, Params, Decay, Split>::optimizer;
};

/// What momentum is constructed with; Mesh-TensorFlow has no default of its factor. `clip_norm` as for adamw.
struct momentum_options {
  double momentum = 0.9;
  double weight_decay = 0;
  double clip_norm = 0;
};

namespace detail {

struct momentum_rule : element_by_element<momentum_rule> {
  using options = momentum_options;
  using kept = list<kept_like_it<"momentum_v">>;
  static constexpr char const* name = "momentum";
  template <class Backend, class A>
  static constexpr updates::momentum<A> formula(one_update<options> const& u) {
    auto const& o = u.options;
    return {static_cast<A>(u.learning_rate), static_cast<A>(o.momentum), static_cast<A>(u.weight_decay)};
  }
};

}  // namespace detail

/// Momentum as Mesh-TensorFlow has it (MomentumOptimizer): v = momentum v + rate g, p = p - v. While the rate stays the
/// same that is sgd; when it changes, what was kept has the old one. Weight decay, which Mesh-TensorFlow's lacks, is
/// decoupled. `Decay`, `Split`, copies and bfloat16 as for adamw.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class momentum : public detail::optimizer<detail::momentum_rule, Params, Decay, Split> {
 public:
  using detail::optimizer<detail::momentum_rule, Params, Decay, Split>::optimizer;
};

/// What lion is constructed with: the defaults of its authors. `clip_norm` as for adamw.
struct lion_options {
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  double clip_norm = 0;
};

namespace detail {

struct lion_rule : element_by_element<lion_rule> {
  using options = lion_options;
  using kept = list<kept_like_it<"exp_avg">>;
  static constexpr char const* name = "lion";
  template <class Backend, class A>
  static constexpr updates::lion<A> formula(one_update<options> const& u) {
    auto const& o = u.options;
    return {static_cast<A>(u.learning_rate), static_cast<A>(1 - o.beta1), static_cast<A>(1 - o.beta2),
            static_cast<A>(u.weight_decay)};
  }
};

}  // namespace detail

/// Lion (Chen et al. 2023): p = p - rate (sign(beta1 m + (1 - beta1) g) + decay p), m = beta2 m + (1 - beta2) g. Each
/// element moves by the rate, so rates are 3 to 10 times smaller than Adam's, and decays as much larger. `Decay`,
/// `Split`, copies and bfloat16 as for adamw.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class lion : public detail::optimizer<detail::lion_rule, Params, Decay, Split> {
 public:
  using detail::optimizer<detail::lion_rule, Params, Decay, Split>::optimizer;
};

}  // namespace mtf
