#pragma once
// Adafactor: second moments of matrices as sums of rows and of columns.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <mtf/autodiff/state_split.hpp>
#include <mtf/backend/buffer.hpp>
#include <mtf/backend/collective.hpp>
#include <mtf/backend/primitives/optimizer.hpp>
#include <mtf/backend/primitives/pointwise.hpp>
#include <mtf/backend/primitives/reduction.hpp>
#include <mtf/backend/work.hpp>
#include <mtf/core/element.hpp>
#include <mtf/core/error.hpp>
#include <mtf/core/layout.hpp>
#include <mtf/core/layout_value.hpp>
#include <mtf/core/mesh.hpp>
#include <mtf/core/mesh_shape.hpp>
#include <mtf/core/partial.hpp>
#include <mtf/core/shape.hpp>
#include <mtf/core/sharding.hpp>
#include <mtf/detail/core/pack.hpp>
#include <mtf/detail/sharding/execute.hpp>
#include <mtf/detail/sharding/pads.hpp>
#include <mtf/detail/sharding/relayout_rule.hpp>
#include <mtf/detail/sharding/shard.hpp>
#include <mtf/detail/tensor/arranged.hpp>
#include <mtf/detail/tensor/result.hpp>
#include <mtf/detail/tensor/sharding_of.hpp>
#include <mtf/detail/tensor/tensor_place.hpp>
#include <mtf/math/fast_math.hpp>
#include <mtf/tensor/tensor.hpp>
#include <mtf/train/decay_weights.hpp>
#include <mtf/train/optimizer.hpp>

namespace mtf {

/// What adafactor is constructed with: Mesh-TensorFlow's defaults. `clip_norm` as for adamw.
struct adafactor_options {
  double decay_exponent = 0.8;  // the mean of squares forgets by 1 - t^-decay_exponent at a parameter's t-th update
  double clip_rms = 1;          // an update's root mean square, over all of the tensor, is at most this
  double epsilon1 = 1e-30;      // added to squares of gradients
  double epsilon2 = 1e-3;       // the least scale of a parameter
  bool scale_parameter = true;  // the rate is multiplied by the root mean square of the parameter
  double weight_decay = 0;
  double clip_norm = 0;
  double beta2 = 0;  // above 0: it forgets as Adam's second moments, without bias, and not by decay_exponent
};

namespace detail {

/// Two dimensions have an extent of at least this, or the moments of a tensor are not factored: as in Mesh-TensorFlow.
inline constexpr std::int64_t least_factored_extent = 128;

/// The positions of the two largest dimensions, of equal ones the first. Rows' moments lack the largest, columns' the
/// second.
struct factored_dims {
  bool factored = false;
  int largest = 0, second = 0;
};
constexpr factored_dims factored_dims_of(sharding const& s) {
  factored_dims f;
  if (s.ndim < 2) return f;
  for (int d = 1; d < s.ndim; ++d)
    if (s[d].logical() > s[f.largest].logical()) f.largest = d;
  f.second = f.largest == 0 ? 1 : 0;
  for (int d = 0; d < s.ndim; ++d)
    if (d != f.largest && s[d].logical() > s[f.second].logical()) f.second = d;
  f.factored = s[f.second].logical() >= least_factored_extent;
  return f;
}
/// Of a tensor whose extents are in its type.
template <class X>
inline constexpr factored_dims factored_of = factored_dims_of(sharding_of<typename X::shape_type, layout<mesh<>>>);
/// Of another one with two dimensions it is known when the program runs whether it is factored. Then all moments have
/// types, and those that are not kept have no values.
template <class X>
inline constexpr bool may_be_factored = !X::shape_type::has_extents && X::shape_type::ndim > 1;

template <class Shape, int Gone, std::size_t... I>
shape<typename Shape::template at<(I < std::size_t{Gone} ? I : I + 1)>...> shape_without(std::index_sequence<I...>);

// A moment is split like the part of the parameter to which it belongs, without one of its dimensions. Axes that split
// several dimensions of the part do not split it: sums over one of these dimensions would need only some of their
// ranks.

/// That of a part which is split so.
constexpr sharding moment_of(bool rows, sharding const& part) {
  auto const lies = without_shared_axes(part);
  auto const f = factored_dims_of(part);
  return without(lies, std::array{lies[rows ? f.largest : f.second].id}, 1);
}

/// For any_layout.
template <class X, class Split, bool Rows>
struct moment_of_part {
  static constexpr bool is_kept(layout_table& table, layout_value const& layout) {
    return X::shape_type::has_extents ||
           factored_dims_of(arranged_under<typename X::shape_type>(table, layout).spec).factored;
  }
  static constexpr arrangement const& arranged(layout_table& table, mesh_shape const& mesh, arrangement const& as) {
    auto const& parameter = arranged_under<typename X::shape_type>(table, *as.layout);
    auto const& part = split_as_state<Split, state_element_size<X>>::arranged(table, mesh, parameter);
    return arranged_result(table, moment_of(Rows, part.spec), std::array{&part});
  }
};
template <class X, class Split>
struct whole_unless_factored : split_as_state<Split, state_element_size<X>> {
  static constexpr bool is_kept(layout_table& table, layout_value const& layout) {
    return !moment_of_part<X, Split, true>::is_kept(table, layout);
  }
};
template <class X, class Split>
struct moments_lie {
  static constexpr sharding out = without_shared_axes(split_further(X::spec, state_split<X, Split>::axes, X::mesh));
};
template <class X, class Split, bool Rows>
struct moment_layout
    : result_layout<typename X::mesh_type, typename X::shape_type, moments_lie<X, Split>, typename X::layout_type> {};
template <class X, class Split, bool Rows>
  requires(by_value<X>)
struct moment_layout<X, Split, Rows> {
  using type = typename any_layout_as<typename X::layout_type, moment_of_part<X, Split, Rows>>::type;
};

/// A moment of a factored tensor: of rows, or of columns.
template <bool Rows>
struct kept_moment {
  static constexpr char const* name() { return Rows ? "exp_avg_sq_row" : "exp_avg_sq_col"; }
  template <class X, class Split, class Shape>
  using moment = tensor<compute_t<typename X::element_type>, Shape, typename moment_layout<X, Split, Rows>::type,
                        partial<>, typename X::backend_type>;
  template <class X, class Split>
  static auto of() {
    if constexpr (may_be_factored<X>) {
      // Which dimensions it has its arrangement says.
      return std::type_identity<moment<X, Split, shape<>>>{};
    } else if constexpr (X::shape_type::ndim > 1 && factored_of<X>.factored) {
      constexpr int gone = Rows ? factored_of<X>.largest : factored_of<X>.second;
      using shape_type = decltype(shape_without<typename X::shape_type, gone>(
          std::make_index_sequence<static_cast<std::size_t>(X::shape_type::ndim - 1)>{}));
      return std::type_identity<moment<X, Split, shape_type>>{};
    } else {
      return std::type_identity<not_kept>{};
    }
  }
  template <class X, class Split, class State>
  using type = typename decltype(of<X, Split>())::type;
};
/// The moments of a tensor that is not factored.
struct kept_whole_moments {
  static constexpr char const* name() { return "exp_avg_sq"; }
  template <class X, class Split>
  static auto of() {
    using state = compute_t<typename X::element_type>;
    if constexpr (may_be_factored<X>)
      return std::type_identity<
          tensor<state, typename X::shape_type,
                 typename any_layout_as<typename X::layout_type, whole_unless_factored<X, Split>>::type, partial<>,
                 typename X::backend_type>>{};
    else if constexpr (X::shape_type::ndim > 1 && factored_of<X>.factored)
      return std::type_identity<not_kept>{};
    else
      return std::type_identity<typename state_split<X, Split>::template tensor<state>>{};
  }
  template <class X, class Split, class State>
  using type = typename decltype(of<X, Split>())::type;
};

struct adafactor_rule {
  using options = adafactor_options;
  using kept = list<kept_moment<true>, kept_moment<false>, kept_whole_moments>;
  static constexpr char const* name = "adafactor";

  template <class Backend, class T, class Part, class Rows, class Columns, class Whole>
  static constexpr void update(Backend& b, one_update<options> const& u, T* p, Part const& g, Rows& rows,
                               Columns& columns, Whole& whole) {
    using A = compute_t<T>;
    auto const place = place_of(g);
    sharding const& spec = place.spec();
    index const n = place.local_size();
    double rest = 1;  // what the new squares weigh: 1 at the first update
    if constexpr (Backend::holds_data) {
      double const beta = u.options.beta2;
      rest = beta > 0 ? (1 - beta) / (1 - math::library_pow(beta, u.updates))
                      : math::library_pow(u.updates, -u.options.decay_exponent);
    }
    buffer<Backend> memory;
    auto const f = factored_dims_of(spec);
    if constexpr (may_be_factored<Part>) {
      bool const as_made = f.factored ? !rows.empty() && rows.where().spec == moment_of(true, spec) &&
                                            !columns.empty() && columns.where().spec == moment_of(false, spec)
                                      : !whole.empty();
      if (!as_made) state_is_of_another(name, spec);
    }
    if constexpr (is_kept<Rows>)
      if (f.factored) memory = factored(b, u, f, spec, g, rows, columns, static_cast<A>(rest));
    if constexpr (is_kept<Whole>)
      if (!f.factored) {
        memory = make_buffer<A>(b, n);
        b.run(primitives::adafactor_whole<typename Part::element_type>{
            n, data_of<A>(memory), whole.value().data(), g.value().data(), u.grad_scale,
            static_cast<A>(u.options.epsilon1), static_cast<A>(rest)});
        zero_pads(b, spec, whole.value().data());
      }
    A* const x = data_of<A>(memory);
    zero_pads(b, spec, x);  // epsilon1 is in them
    // The sums of the squares of the update and of the parameter, over all of the tensor.
    auto const sums = make_buffer<double>(b, 2);
    double *const of_x = data_of<double>(sums), *const of_p = data_of<double>(sums, 1);
    b.run(primitives::fill<double>{of_x, 2, 0.0});
    b.run(primitives::square_sum<A>{n, of_x, static_cast<A const*>(x)});
    b.run(primitives::square_sum<T>{n, of_p, p});
    if (axis_mask const axes = spec.split_axes(); axes != 0)
      b.communicate(collective::all_reduce(axes, combine::sum, element_of<double>, 2), of_x, of_x);
    b.run(primitives::adafactor_apply<T>{n, p, x, of_x, u.grad_scale, static_cast<double>(spec.global_size()),
                                         u.learning_rate, u.options.epsilon2, u.options.clip_rms, u.weight_decay,
                                         u.options.scale_parameter});
  }

 private:
  // Not constexpr: a plan of such a program ends here.
  [[noreturn]] static void state_is_of_another(char const* by, sharding const& s) {
    std::string text;
    for (int d = 0; d < s.ndim; ++d) text += (d == 0 ? "" : ", ") + named(s[d]);
    throw user_error(std::string(by) + ": a parameter of " + text +
                     " is not as long, or not split, as those for which the optimizer made its state");
  }
  /// g / sqrt(moments), the moments as products of those of rows and of columns. `part`: the place of g. Sends sums of
  /// rows over the axes that split their largest dimension, sums of columns over those that split the second, and the
  /// rows' mean over the latter; g, where an axis splits several dimensions.
  template <class Backend, class A, class Part, class Rows, class Columns>
  static constexpr buffer<Backend> factored(Backend& b, one_update<options> const& u, factored_dims const& f,
                                            sharding const& part, Part const& g, Rows& rows, Columns& columns, A rest) {
    using G = typename Part::element_type;
    mesh_shape const& mesh = b.ranks().mesh();
    sharding const spec = without_shared_axes(part);
    auto const all_of_g = execute<G>(b, derive_relayout(mesh, part, spec), g.value().memory);
    G const* const from = data_of<G>(all_of_g);
    auto const memory = make_buffer<A>(b, spec.local_size(mesh));
    A* const x = data_of<A>(memory);
    auto const &largest = spec[f.largest], &second = spec[f.second];
    sharding const by_row = without(spec, std::array{largest.id}, 1);
    sharding const by_column = without(spec, std::array{second.id}, 1);
    sharding const by_neither = without(by_row, std::array{second.id}, 1);
    b.run(primitives::adafactor_squares<G>{spec.local_size(mesh), x, from, u.grad_scale,
                                           static_cast<A>(u.options.epsilon1)});
    zero_pads(b, spec, x);
    auto const mean_into = [&](auto& moment, sharding const& lies, dim_state const& gone) {
      index const size = lies.local_size(mesh);
      auto const sum = make_buffer<A>(b, size);
      total(b, data_of<A>(sum), lies, x, spec, gone.split.mask());
      b.run(primitives::adafactor_mean<A>{size, moment.value().data(), data_of<A>(sum), u.grad_scale, rest,
                                          static_cast<A>(gone.logical())});
    };
    mean_into(rows, by_row, largest);
    mean_into(columns, by_column, second);
    auto const sum = make_buffer<A>(b, by_neither.local_size(mesh));
    total(b, data_of<A>(sum), by_neither, rows.value().data(), by_row, second.split.mask());
    b.run(primitives::adafactor_factored<G>{aligned<3>(mesh, spec, {by_row, by_column, by_neither}), x, from,
                                            rows.value().data(), columns.value().data(), data_of<A>(sum), u.grad_scale,
                                            static_cast<A>(second.logical())});
    return execute<A>(b, derive_relayout(mesh, spec, part), memory);
  }
  /// to = the sum of `from` over the dimensions that `lies` lacks, which these axes split.
  template <class Backend, class A>
  static constexpr void total(Backend& b, A* to, sharding const& lies, A const* from, sharding const& whole,
                              axis_mask axes) {
    mesh_shape const& mesh = b.ranks().mesh();
    b.run(primitives::reduce<A>{combine::sum, reduction_to(mesh, lies, whole), to, from});
    if (axes != 0)
      b.communicate(
          collective::all_reduce(axes, combine::sum, element_of<A>, static_cast<std::size_t>(lies.local_size(mesh))),
          to, to);
  }
};

}  // namespace detail

/// Adafactor (Shazeer & Stern 2018) as Mesh-TensorFlow has it, without its first moment. A tensor whose two largest
/// dimensions have extents of at least 128 keeps the means of its gradient's squares along each of the two, another one
/// the moments of all elements. Moments are split as their parameter's state is, with `Split` too, but are not split by
/// an axis that would split several of its dimensions; they are of the compute type. An update's root mean square is
/// clipped to clip_rms; the rate is multiplied by the parameter's root mean square, and comes from the schedule
/// relative_step in the paper. For each tensor it sends, beside what every optimizer does: two numbers over the axes
/// that split it, and where those split a factored dimension the sums along it. `Decay` and copies as for adamw; a
/// group's decay is multiplied by the same rate as its update.
template <class Params, class Decay = decay_weights, class Split = state_split_over<>>
class adafactor : public detail::optimizer<detail::adafactor_rule, Params, Decay, Split> {
 public:
  using detail::optimizer<detail::adafactor_rule, Params, Decay, Split>::optimizer;
};

}  // namespace mtf
