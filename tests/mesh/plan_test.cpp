// ranks: 4
// What runs sends what was planned: twenty generated programs, each a chain of operations drawn from its seed, under
// two layouts. (The example's programs check themselves in their first step.)
#include "mpi_main.hpp"

#include <mtf/mtf.hpp>

namespace {

struct a : mtf::dim<"a", 4> {};
struct b : mtf::dim<"b", 8> {};
struct c : mtf::dim<"c", 8> {};
struct e : mtf::dim<"e", 8> {};  // c under another name

using mesh = mtf::mesh_of<"p:2;q:2">;
template <mtf::fixed_string Rules>
using rules = mtf::layout_of<"p:2;q:2", Rules, a, b, c, e>;
using first_layout = rules<"a:p;c:q">;
using second_layout = rules<"b:p;e:q">;

template <template <class...> class Tensor>
struct weights {
  Tensor<a, b, c> x;
  Tensor<c, e> w;
  Tensor<e, c> v;
  Tensor<c> gamma, beta;
  std::array<Tensor<c>, 6> layers;
  MTF_FIELDS(x, w, v, gamma, beta, layers);
};

/// One operation, drawn from the number: a tensor over a, b, c to another one. Nothing that sends stands beside another
/// such thing in one call: C++ leaves open which comes first, and compilers decide differently in constant expressions.
template <unsigned Draw, class X>
constexpr auto apply(auto const& p, X const& x) {
  using here = typename X::layout_type;
  using other = std::conditional_t<std::is_same_v<here, first_layout>, second_layout, first_layout>;
  if constexpr (Draw == 0) {
    auto const w = mtf::relayout<here>(p.w);
    auto const v = mtf::relayout<here>(p.v);
    return mtf::einsum<a, b, c>(mtf::einsum<a, b, e>(x, w), v);
  } else if constexpr (Draw == 1)
    return mtf::softmax<b>(x);
  else if constexpr (Draw == 2)
    return mtf::softmax<c>(x, 0.5);
  else if constexpr (Draw == 3) {
    auto const gamma = mtf::relayout<here>(p.gamma);
    auto const beta = mtf::relayout<here>(p.beta);
    return mtf::layer_norm<c>(x, gamma, beta);
  } else if constexpr (Draw == 4)
    return x - mtf::reduce_max<b>(x);
  else if constexpr (Draw == 5)
    return mtf::gelu(x) + mtf::mean<a>(x);
  else if constexpr (Draw == 6)
    return mtf::relayout<other>(x);
  else if constexpr (Draw == 7)
    return mtf::rename<e, c>(mtf::relu(mtf::rename<c, e>(x)));
  else if constexpr (Draw == 8)
    return mtf::scan(p.layers, mtf::complete(x), [](auto const& row, auto const& before, std::size_t) {
      auto const r = mtf::relayout<typename std::remove_cvref_t<decltype(before)>::layout_type>(row);
      auto const scaled = before * r;
      return scaled + mtf::sum<b>(before);
    });
  else if constexpr (Draw == 9) {
    auto const logs = mtf::log_softmax<c>(x);
    auto const row = mtf::logsumexp<b>(x);
    return logs * row;
  } else
    return mtf::transpose<a, b, c>(mtf::transpose<c, a, b>(x) + x);
}

constexpr unsigned kinds = 11;

template <unsigned Seed, int Steps>
constexpr auto chain(auto const& p, auto const& x) {
  if constexpr (Steps == 0)
    return mtf::mean(x * x);
  else
    return chain<Seed * 1664525U + 1013904223U, Steps - 1>(p, apply<(Seed >> 16U) % kinds>(p, x));
}
template <unsigned Seed>
struct program {
  constexpr auto operator()(auto const& p) const { return chain<Seed, 5>(p, p.x); }
};

template <unsigned Seed, class Layout>
void sends_what_was_planned() {
  CAPTURE(Seed);
  using backend = mtf::kokkos_backend<>;
  using parameters = weights<mtf::place<float, Layout, backend>::template tensor>;
  constexpr auto when = Seed % 2 == 0 ? mtf::completed_gradients::later : mtf::completed_gradients::overlapped;
  constexpr auto planned = mtf::plan_of<Layout, when>(program<Seed>{}, mtf::parameters<weights>{});

  mtf::mpi_collectives ranks(mesh::shape());
  backend machine(ranks);
  parameters p;
  mtf::for_each_tensor(
      [&](auto name, auto& x) {
        x = mtf::random_normal<std::remove_reference_t<decltype(x)>>(machine, mtf::random_key(Seed).of(name));
      },
      p);
  std::vector<mtf::collectives::event> sent;
  ranks.record(&sent);
  auto const [value, gradients] = mtf::value_and_grad(program<Seed>{}, when)(p);
  mtf::global_norm(machine, gradients);
  ranks.record(nullptr);
  CHECK(sent.size() == planned.count());
  CHECK(sent == planned.unrolled());
  std::uint64_t bytes = 0;
  for (auto const& count : ranks.counts()) bytes += count.sent;
  CHECK(bytes == planned.bytes_sent_per_rank());
}

template <unsigned... Seed>
void all(std::integer_sequence<unsigned, Seed...>) {
  (sends_what_was_planned<(Seed + 1) * 2654435761U, first_layout>(), ...);
  (sends_what_was_planned<(Seed + 1) * 2654435761U, second_layout>(), ...);
}

TEST_CASE("generated programs send what was planned") { all(std::make_integer_sequence<unsigned, 20>{}); }

}  // namespace
