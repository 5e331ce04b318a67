// What the entry points take and refuse, as verdicts: functions and element types given to map, structures of tensors;
// and the arithmetic of dual numbers with plain ones.
#include "names.hpp"

#include <array>

namespace {

using namespace mtf;
using detail::callable_t;
using detail::fields_verdict_t;
using detail::map_function_t;

template <class T>
using x = typename place<T, ::where>::template tensor<batch>::description;

// --- element types

template <class F, class... T>
constexpr bool takes = map_function_t<F, x<T>...>::value;
template <class F, class T>
constexpr bool floating_alone =
    takes<F, float> && takes<F, double> && takes<F, bfloat16> && same<map_function_t<F, x<T>>, error_element_type<T>>;
template <class... F>
constexpr bool all_floating_alone =
    ((floating_alone<F, std::int32_t> && floating_alone<F, std::int64_t> && floating_alone<F, bool>) && ...);
static_assert(all_floating_alone<functions::exp, functions::log, functions::sqrt, functions::rsqrt, functions::tanh,
                                 functions::sigmoid, functions::gelu, functions::silu, functions::power<float>>);
static_assert(takes<functions::pow, float, float> &&
              same<map_function_t<functions::pow, x<std::int32_t>, x<std::int32_t>>, error_element_type<std::int32_t>>);
static_assert(takes<functions::relu, std::int32_t> && takes<functions::abs, std::int64_t> &&
              takes<functions::square, std::int64_t> && takes<functions::max, std::int32_t, std::int32_t> &&
              takes<functions::add, std::int64_t, std::int64_t> && takes<functions::clip<int>, std::int32_t> &&
              takes<functions::less, bool, bool>);
static_assert(takes<functions::where, bool, float, float>);

// --- functions

constexpr auto of_plain = [](float a) { return a * a; };
constexpr auto of_one_type = []<class A>(A a, A b) { return a * b; };
constexpr auto of_two_types = [](float a, auto b) { return a * b; };
constexpr auto wide = [](auto a) { return a * 1.0L; };
struct final_one final {
  template <class A>
  A operator()(A a) const {
    return a;
  }
};
static_assert(takes<decltype(of_plain), float> && takes<decltype(of_plain), bfloat16> &&
              takes<decltype(of_plain), double>);
static_assert(takes<decltype(of_one_type), float, float> && takes<final_one, float>);
static_assert(
    same<map_function_t<decltype(of_plain), x<float>, x<float>>, error_not_callable<decltype(of_plain), float, float>>);
static_assert(same<map_function_t<decltype(of_one_type), x<bool>, x<float>>,
                   error_not_callable<decltype(of_one_type), bool, float>>);
static_assert(same<map_function_t<decltype(wide), x<float>>, error_element_type<long double>>);
static_assert(same<map_function_t<functions::add, x<float>, x<double>>, error_element_types_differ<float, double>>);

static_assert(!math::has_derivative<0, decltype(of_plain), float> && math::has_derivative<0, final_one, float>);
static_assert(!math::has_derivative<0, decltype(of_one_type), float, float>);
static_assert(!math::has_derivative<0, decltype(of_two_types), float, float> &&
              math::has_derivative<1, decltype(of_two_types), float, float>);
static_assert(math::derivative<1>(of_two_types, 3.0F, 2.0F) == 3);

using pointer = float (*)(float);
static_assert(same<callable_t<pointer, float>, ok> && same<callable_t<pointer>, error_not_callable<pointer>>);
static_assert(same<callable_t<final_one>, error_not_callable<final_one>>);

// --- dual numbers: a plain number of any type is the dual number that it converts to

using dual = math::dual<float>;
constexpr bool equal(dual a, dual b) { return a.v == b.v && a.d == b.d; }
template <class N>
constexpr bool plain_is_constant() {
  dual const a(1.5F, 2);
  auto const n = static_cast<N>(3);
  dual const m(static_cast<float>(n));
  return equal(a + n, a + m) && equal(n + a, m + a) && equal(a - n, a - m) && equal(n - a, m - a) &&
         equal(a * n, a * m) && equal(n * a, m * a) && equal(a / n, a / m) && equal(n / a, m / a) &&
         (a < n) == (a < m) && (n < a) == (m < a) && (a > n) == (a > m) && (n > a) == (m > a) && (a <= n) == (a <= m) &&
         (n <= a) == (m <= a) && (a >= n) == (a >= m) && (n >= a) == (m >= a) && (a == n) == (a == m) &&
         (n == a) == (m == a) && (a != n) == (a != m);
}
template <class N>
constexpr bool meets_plain() {
  dual const a(1.5F, 2);
  auto const n = static_cast<N>(3);
  return equal(a.v > 0 ? a : n, a) && equal(a < n ? n : a, dual(3.0F));
}
static_assert(plain_is_constant<float>() && plain_is_constant<double>() && plain_is_constant<long double>());
static_assert(plain_is_constant<int>() && plain_is_constant<std::int64_t>() && plain_is_constant<unsigned>() &&
              plain_is_constant<bool>());
static_assert(meets_plain<float>() && meets_plain<double>() && meets_plain<int>());
static_assert(std::is_convertible_v<float, dual> && !std::is_convertible_v<dual, float> &&
              !std::is_convertible_v<dual, int>);

// --- structures: each of their tensors is named once, whatever else they hold

struct nothing {};
struct alignas(64) wide_thing {
  char c;
};
template <template <class...> class Tensor>
struct leaf {
  Tensor<batch> w;
  Tensor<> scale;
  MTF_FIELDS(scale, w);
};
template <template <class...> class Tensor>
struct odd_things {
  char before = 'a';
  Tensor<batch> w;
  nothing empty;
  [[no_unique_address]] nothing also_empty;
  wide_thing aligned{};
  leaf<Tensor> one;
  std::array<leaf<Tensor>, 0> none;
  long double between = 0;
  std::array<leaf<Tensor>, 7> seven;
  std::array<std::array<Tensor<hidden>, 3>, 2> nested;
  leaf<relaid<Tensor, layout<machine>>::template tensor> elsewhere;
  bool after = true;
  static constexpr int depth = 7;
  MTF_FIELDS(w, one, none, seven, nested, elsewhere);
};
template <template <class...> class Tensor>
struct inherits : leaf<Tensor> {
  Tensor<hidden> b;
  MTF_FIELDS(w, scale, b);
};
template <template <class...> class Tensor>
struct forgets : leaf<Tensor> {
  Tensor<hidden> b;
  MTF_FIELDS(b);
};
template <template <class...> class Tensor>
struct forgets_small {
  double number;
  Tensor<hidden> b;
  std::array<Tensor<>, 3> small;
  char c;
  MTF_FIELDS(b);
};
template <template <class...> class Tensor>
struct twice {
  Tensor<hidden> b;
  MTF_FIELDS(b, b);
};
template <template <class...> class Tensor>
struct unnamed {
  Tensor<hidden> b;
};
template <template <class...> class Tensor>
struct around {
  std::array<unnamed<Tensor>, 2> inner;
  Tensor<hidden> b;
  MTF_FIELDS(inner, b);
};
template <template <class...> class Tensor>
struct empty {
  int number = 0;
  MTF_FIELDS();
};

template <template <template <class...> class> class Structure>
using parameters_of = Structure<place<float, ::where>::tensor>;
/// As parameters, gradients, slots and optimizer state, the verdict is one.
template <template <template <class...> class> class Structure, class Verdict>
constexpr bool is =
    same<fields_verdict_t<parameters_of<Structure>>, Verdict> &&
    same<fields_verdict_t<gradients_t<parameters_of<Structure>>>, Verdict> &&
    same<fields_verdict_t<typename detail::slots_of<parameters_of<Structure>>::type>, Verdict> &&
    same<
        fields_verdict_t<detail::state_t<detail::kept_like_it<"m">, parameters_of<Structure>, state_split_over<batch>>>,
        Verdict>;
static_assert(is<leaf, ok> && is<odd_things, ok> && is<inherits, ok> && is<empty, ok>);
static_assert(is<forgets, error_fields<forgets, 3, 1>>);
static_assert(is<forgets_small, error_fields<forgets_small, 4, 1>>);
static_assert(is<twice, error_fields<twice, 1, 2>>);
static_assert(is<unnamed, error_without_fields<unnamed>> && is<around, error_without_fields<unnamed>>);
static_assert(same<detail::parameters_verdict_t<nothing>, error_not_parameters<nothing>>);

// --- layouts

static_assert(same<layout_verdict_t<split<batch, rows>>, error_not_a_mesh<split<batch, rows>>>);
static_assert(
    same<layout_verdict_t<machine, split<batch, rows>, split<cols, hidden>>, error_not_a_split<cols, hidden>>);
static_assert(same<layout_verdict_t<machine, split<batch>>, ok>);  // whole, whatever it is an alias of
static_assert(same<layout_verdict_t<machine, split<batch, rows>, hidden>, error_not_a_split<hidden>>);

}  // namespace
