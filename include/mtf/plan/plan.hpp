#pragma once
// What a program sends, before anything runs: the program itself, executed by the compiler on the backend without data.
#include <cstdio>
#include <limits>
#include <string>

#include <mtf/train/optimizers.hpp>
#include <mtf/train/scan.hpp>

namespace mtf {

/// Stands for the parameters of a planned program: `mtf::parameters<mlp>{}`.
template <template <template <class...> class> class Structure, class T = float>
struct parameters {};

/// Stands for an input of a planned program: `mtf::input<float, batch, pixels>{}`.
template <class T, dimension... Dims>
struct input {};

inline namespace literals {
/// Bytes: `64_KiB`.
consteval std::uint64_t operator""_KiB(unsigned long long n) { return n << 10U; }
consteval std::uint64_t operator""_MiB(unsigned long long n) { return n << 20U; }
consteval std::uint64_t operator""_GiB(unsigned long long n) { return n << 30U; }
}  // namespace literals

/// The collectives of one step of a program on one rank, in order; all ranks do the same. Equal layers are a loop.
/// Bytes are those that a rank sends in bandwidth-optimal algorithms, `mtf::bytes_sent`.
template <std::size_t Collectives, std::size_t Loops>
struct plan {
  mesh_shape mesh;
  std::array<std::string_view, mesh_shape::max_axes> axis_names{};
  std::array<planned_collective, Collectives> collectives{};
  std::array<planned_loop, Loops> loops{};  // an outer one after those inside it
  std::uint64_t reordered = 0;   // tensors that contractions copy into another order, which no strides could express
  std::uint64_t peak_bytes = 0;  // of tensors on a rank at one time: parameters, inputs, what is kept for backward, gradients

  /// How often the i-th collective is done in one step.
  [[nodiscard]] constexpr std::uint64_t times(std::size_t i) const {
    std::uint64_t n = 1;
    for (auto const& l : loops) n *= l.first <= i && i < l.last ? l.count : 1;
    return n;
  }
  /// The number of collectives for which `which(planned_collective)` holds.
  template <class Which>
  [[nodiscard]] constexpr std::uint64_t count(Which const& which) const {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < Collectives; ++i) n += which(collectives[i]) ? times(i) : 0;
    return n;
  }
  [[nodiscard]] constexpr std::uint64_t count() const {
    return count([](auto const&) { return true; });
  }
  [[nodiscard]] constexpr std::uint64_t count(collective kind) const {
    return count([&](auto const& c) { return c.kind == kind; });
  }
  /// What they send.
  template <class Which>
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank(Which const& which) const {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < Collectives; ++i) {
      auto const& c = collectives[i];
      n += which(c) ? times(i) * bytes_sent(c.kind, c.payload, mesh.size(c.axes)) : 0;
    }
    return n;
  }
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank() const {
    return bytes_sent_per_rank([](auto const&) { return true; });
  }
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank(collective kind) const {
    return bytes_sent_per_rank([&](auto const& c) { return c.kind == kind; });
  }
  [[nodiscard]] constexpr std::uint64_t bytes_sent_per_rank(pass when) const {
    return bytes_sent_per_rank([&](auto const& c) { return c.when == when; });
  }
  /// Over one axis, alone or with others.
  template <mesh_axis Axis>
  [[nodiscard]] constexpr std::uint64_t bytes_sent_over() const {
    axis_mask mask = 0;
    for (int a = 0; a < mesh.rank; ++a)
      mask |= axis_names[static_cast<std::size_t>(a)] == Axis::name ? 1U << static_cast<unsigned>(a) : 0U;
    return bytes_sent_per_rank([&](auto const& c) { return (c.axes & mask) != 0; });
  }

  /// All collectives one after the other, loops unrolled: what `collectives::record` writes down when the program runs.
  [[nodiscard]] std::vector<collectives::event> unrolled() const {
    std::vector<mtf::collectives::event> all;
    unroll(all, 0, Collectives, Loops);
    return all;
  }

 private:
  void unroll(std::vector<mtf::collectives::event>& all, std::size_t first, std::size_t last, std::size_t loops_left) const {
    for (std::size_t i = first; i < last;) {
      std::size_t l = loops_left;
      while (l > 0 && !(loops[l - 1].first == i && loops[l - 1].last <= last)) --l;
      if (l > 0) {
        for (std::uint64_t n = 0; n < loops[l - 1].count; ++n) unroll(all, i, loops[l - 1].last, l - 1);
        i = loops[l - 1].last;
      } else {
        all.push_back({collectives[i].kind, collectives[i].axes, collectives[i].payload});
        ++i;
      }
    }
  }
};

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

/// The verdict on a function that is to run in a constant expression.
template <class F>
using captures_nothing_t = std::conditional_t<std::is_empty_v<F> && std::is_default_constructible_v<F>, ok, error_captures<F>>;

/// The verdict on a function that is to be planned, and what stands for its arguments.
template <class Layout, class F, class... In>
auto program_verdict() {
  using inputs = first_failed_t<std::conditional_t<is_input<In>, ok, error_not_an_input<In>>...>;
  if constexpr (!captures_nothing_t<F>::value)
    return captures_nothing_t<F>{};
  else if constexpr (!inputs::value)
    return inputs{};
  else if constexpr (!first_failed_t<fields_verdict_t<planned_argument<Layout, In>>...>::value)
    return first_failed_t<fields_verdict_t<planned_argument<Layout, In>>...>{};
  else if constexpr (sizeof...(In) > 0 && is_parameters<first_t<In..., void>>)
    return loss_verdict<F, planned_argument<Layout, In>...>();
  else
    return callable_t<F, planned_argument<Layout, In> const&...>{};
}

template <class Mesh>
struct axis_names;
template <class... A>
struct axis_names<mesh<A...>> {
  static constexpr std::array<std::string_view, mesh_shape::max_axes> all{A::name...};
};

template <class Layout, completed_gradients When, class Cut, class F, class... In>
class planned_program {
  using mesh_type = typename Layout::mesh_type;
  static constexpr std::size_t most = 512;
  struct recording {
    std::size_t size = 0, loop_count = 0;
    std::array<planned_collective, most> collectives{};
    std::array<planned_loop, most> loops{};
    std::uint64_t peak = 0, reordered = 0;
    std::size_t unused_rule = 0;
  };
  static constexpr recording run() {
    trace b(mesh_type::shape());
    step(b, stand_in<place<float, Layout, trace>, In>(b).value...);
    recording r;
    for (auto const& c : b.planned()) r.collectives[r.size++] = c;
    for (auto const& l : b.loops())
      if (l.count > 1) r.loops[r.loop_count++] = l;
    r.peak = b.peak_bytes();
    r.reordered = b.reordered();
    while (Layout::rules[r.unused_rule].dim != 0 && b.has_seen(Layout::rules[r.unused_rule].dim)) ++r.unused_rule;
    return r;
  }
  // With parameters first it is a training step: backward, and what an optimizer sends; else a call.
  template <class... X>
  static constexpr void step(trace& b, X const&... x) {
    using result = std::remove_cvref_t<decltype(F{}(x...))>;
    if constexpr (!std::is_same_v<result, refused> && is_parameters<first_t<In..., void>>)
      train<result>(b, x...);
    else
      static_cast<void>(F{}(x...));
  }
  template <class Loss, class Params, class... Rest>
  static constexpr void train(trace& b, Params const& params, Rest const&... rest) {
    decltype(complete(std::declval<Loss const&>())) value;
    gradients_t<Params> gradients;
    differentiate<Cut>(When, F{}, params, value, gradients, rest...);
    global_norm<Cut>(b, gradients);
    during<trace> const update(b, pass::update);
    walk_tensors(
        b,
        [](path const& name, auto const& p, auto const& g) {
          if (!g.is_zero()) share_parts<Cut>(p, name.names());
        },
        params, gradients);
  }

  // The name is part of what a compiler says when the function does something that no constant expression can do.
  static constexpr recording what_the_planned_function_does = run();

 public:
  // False after the compiler has said so.
  static constexpr bool has_run = requires { typename std::bool_constant<what_the_planned_function_does.size == 0>; };
  static constexpr std::size_t unused_rule() { return what_the_planned_function_does.unused_rule; }
  static constexpr auto make() {
    constexpr auto& recorded = what_the_planned_function_does;
    plan<recorded.size, recorded.loop_count> p{.mesh = mesh_type::shape(), .axis_names = axis_names<mesh_type>::all};
    for (std::size_t i = 0; i < recorded.size; ++i) p.collectives[i] = recorded.collectives[i];
    for (std::size_t i = 0; i < recorded.loop_count; ++i) p.loops[i] = recorded.loops[i];
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
/// first, f is a loss, and the plan is that of a training step: forward, backward, and the completion of the gradients,
/// by the optimizer or, with completed_gradients::overlapped after the layout, during the backward pass; and, with the
/// optimizer's state_cut_over after that, the parameters' own. Otherwise it is that of calling f. f is a function
/// object without state, such as a lambda that captures nothing; it runs in a constant expression. (Where one call has
/// two arguments that both communicate, forward or backward, C++ leaves open which comes first, and the plan may have
/// them the other way round than the run: give them names.) Refused: a rule of the layout for a dimension that no
/// tensor of the program has, a function that captures, other arguments than it takes, a loss that is not a scalar tensor.
template <layout_type Layout, completed_gradients When = completed_gradients::later, class Cut = state_cut_over<>,
          class F, class... In>
constexpr auto plan_of(F, In...) {
  using verdict = decltype(detail::program_verdict<Layout, F, In...>());
  using program = detail::planned_program<Layout, When, Cut, F, In...>;
  using checked1 [[maybe_unused]] = detail::checked_t<verdict>;
  if constexpr (!verdict::value) {
    return plan<0, 0>{};
  } else if constexpr (!program::has_run) {
    return plan<0, 0>{};
  } else {
    using checked2 [[maybe_unused]] = detail::checked_t<typename detail::rule_verdict<Layout, program::unused_rule()>::type>;
    return program::make();
  }
}

/// What a plan may cost one rank in one step.
struct budget {
  static constexpr std::uint64_t any = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t bytes_sent = any;
  std::uint64_t collectives = any;
  std::uint64_t memory = any;  // bytes of tensors at one time
};
enum class budgeted : std::uint8_t { bytes_sent, collectives, memory };

/// `static_assert(mtf::within_budget<plan, mtf::budget{.bytes_sent = 64_KiB}>())`: refused if the plan, a constant with
/// static storage, is over it. The error tells both numbers.
template <auto const& Plan, budget Limit>
consteval bool within_budget() {
  constexpr auto bytes = Plan.bytes_sent_per_rank(), count = Plan.count(), memory = Plan.peak_bytes;
  using verdict = detail::first_failed_t<
      std::conditional_t<bytes <= Limit.bytes_sent, ok, error_over_budget<budgeted::bytes_sent, bytes, Limit.bytes_sent>>,
      std::conditional_t<count <= Limit.collectives, ok, error_over_budget<budgeted::collectives, count, Limit.collectives>>,
      std::conditional_t<memory <= Limit.memory, ok, error_over_budget<budgeted::memory, memory, Limit.memory>>>;
  using checked [[maybe_unused]] = detail::checked_t<verdict>;
  return true;
}

/// "[batch/rows, hidden]": a tensor's dimensions and the axes that cut them.
inline std::string describe(detail::sharding const& s, std::array<std::string_view, mesh_shape::max_axes> const& axis_names) {
  std::string text = "[";
  for (int d = 0; d < s.rank; ++d) {
    text += (d == 0 ? "" : ", ") + std::string(s[d].name);
    for (int i = 0; i < s[d].cut.size; ++i)
      text += (i == 0 ? "/" : "+") + std::string(axis_names[static_cast<std::size_t>(s[d].cut[i])]);
  }
  return text + "]";
}

/// A table of the plan for people: a line a collective, loops marked, totals at the end.
template <std::size_t C, std::size_t L>
std::string describe(plan<C, L> const& p) {
  auto const bytes = [](std::uint64_t n) {
    std::array<char, 32> text{};
    if (n < 10000)
      std::snprintf(text.data(), text.size(), "%llu B", static_cast<unsigned long long>(n));
    else if (n < 10000 << 10)
      std::snprintf(text.data(), text.size(), "%.1f KiB", static_cast<double>(n) / 1024);
    else
      std::snprintf(text.data(), text.size(), "%.1f MiB", static_cast<double>(n) / (1024 * 1024));
    return std::string(text.data());
  };
  auto const axes = [&](axis_mask m) {
    std::string text;
    for (int a = 0; a < p.mesh.rank; ++a)
      if ((m >> static_cast<unsigned>(a)) & 1U) text += (text.empty() ? "" : "+") + std::string(p.axis_names[static_cast<std::size_t>(a)]);
    return text;
  };
  std::string text;
  auto const line = [&](std::string const& times, char const* when, char const* kind, std::string const& over,
                        std::string const& sent, std::string const& what) {
    std::array<char, 300> row{};
    std::snprintf(row.data(), row.size(), "%6s  %-8s  %-14s  %-10s  %10s  %s\n", times.c_str(), when, kind, over.c_str(),
                  sent.c_str(), what.c_str());
    text += row.data();
  };
  line("times", "pass", "collective", "over", "sent each", "of");
  for (std::size_t i = 0; i < C; ++i) {
    auto const& c = p.collectives[i];
    std::string what = c.operation;
    for (auto const* name : c.parameter)
      if (name != nullptr) what = what.substr(0, what.find(' ')) + ' ' + name + (what.find(' ') == std::string::npos ? "" : "." + what.substr(what.find(' ') + 1));
    if (c.tensor != nullptr) what += " " + describe(*c.tensor, p.axis_names);
    line(std::to_string(p.times(i)), name_of(c.when), name_of(c.kind), axes(c.axes),
         bytes(bytes_sent(c.kind, c.payload, p.mesh.size(c.axes))), what);
  }
  text += "sent by each rank in one step: " + bytes(p.bytes_sent_per_rank()) + " in " + std::to_string(p.count()) + " collectives\n";
  for (auto const kind : {collective::all_reduce, collective::reduce_scatter, collective::all_gather, collective::all_to_all,
                          collective::permute})
    for (axis_mask m = 1; m < 1U << static_cast<unsigned>(p.mesh.rank); ++m) {
      auto const same = [&](planned_collective const& c) { return c.kind == kind && c.axes == m; };
      if (auto const n = p.count(same); n > 0)
        text += "  " + std::string(name_of(kind)) + " over " + axes(m) + ": " + bytes(p.bytes_sent_per_rank(same)) + " in " +
                std::to_string(n) + "\n";
    }
  text += "tensors that contractions copy into another order: " + std::to_string(p.reordered) + "\n";
  text += "memory of tensors on a rank: " + bytes(p.peak_bytes) + "\n";
  return text;
}

}  // namespace mtf
