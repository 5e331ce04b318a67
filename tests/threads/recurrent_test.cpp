// Scans along time: a GRU and an LSTM against PyTorch's (tests/reference/make_recurrent.py), on several meshes; what
// they send and keep is what was planned.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/threads.hpp>
#include <mtf/train/scan_time.hpp>

#include "../support/counted_backend.hpp"
#include "../support/pads_are_zero.hpp"
#include "reference/reference.hpp"

namespace {

using backend = tests::counted_backend;

struct steps : mtf::dim<"steps", 7> {};
struct batch : mtf::dim<"batch", 4> {};
struct in : mtf::dim<"in", 6> {};
struct before : mtf::dim<"before", 8> {};
struct hidden : mtf::dim<"hidden", 8> {};

template <template <class...> class Tensor>
struct gate {
  Tensor<in, hidden> weight_ih;
  Tensor<before, hidden> weight_hh;
  Tensor<hidden> bias_ih, bias_hh;
  MTF_FIELDS(weight_ih, weight_hh, bias_ih, bias_hh);
};
template <template <class...> class Tensor>
struct gru {
  gate<Tensor> r, z, n;
  MTF_FIELDS(r, z, n);
};
template <template <class...> class Tensor>
struct lstm {
  gate<Tensor> i, f, g, o;
  MTF_FIELDS(i, f, g, o);
};
/// What gradients are taken in: weights, the first states, the inputs.
template <template <template <class...> class> class Cell, std::size_t States>
struct with_inputs {
  template <template <class...> class Tensor>
  struct all {
    Cell<Tensor> cell;
    std::array<Tensor<batch, hidden>, States> first;
    Tensor<steps, batch, in> xs;
    MTF_FIELDS(cell, first, xs);
  };
};

constexpr auto from_input = [](auto const& g, auto const& x) {
  return mtf::complete(mtf::einsum<batch, hidden>(x, g.weight_ih)) + g.bias_ih;
};
constexpr auto from_state = [](auto const& g, auto const& h) {
  return mtf::complete(mtf::einsum<batch, hidden>(mtf::rename<hidden, before>(h), g.weight_hh)) + g.bias_hh;
};
struct gru_cell {
  constexpr auto operator()(auto const& p, auto const& h, auto const& x) const {
    auto const r = mtf::sigmoid(from_input(p.r, x) + from_state(p.r, h));
    auto const z = mtf::sigmoid(from_input(p.z, x) + from_state(p.z, h));
    auto const n = mtf::tanh(from_input(p.n, x) + r * from_state(p.n, h));
    auto const y = (1 - z) * n + z * h;
    return mtf::scanned{y, y};
  }
};
template <class X>
struct states {
  X h, c;
  MTF_FIELDS(h, c);
};
struct lstm_cell {
  constexpr auto operator()(auto const& p, auto const& s, auto const& x) const {
    auto const of = [&](auto const& g) { return from_input(g, x) + from_state(g, s.h); };
    auto const c = mtf::sigmoid(of(p.f)) * s.c + mtf::sigmoid(of(p.i)) * mtf::tanh(of(p.g));
    auto const h = mtf::sigmoid(of(p.o)) * mtf::tanh(c);
    return mtf::scanned{std::remove_cvref_t<decltype(s)>{h, c}, h};
  }
};

template <class Cell>
constexpr auto first_of(auto const& p) {
  if constexpr (std::is_same_v<Cell, gru_cell>)
    return p.first[0];
  else
    return states<std::remove_cvref_t<decltype(p.first[0])>>{p.first[0], p.first[1]};
}
template <class X>
constexpr auto sum_of(X const& x) {
  if constexpr (mtf::tensor_type<X>)
    return mtf::complete(mtf::sum(x));
  else
    return mtf::complete(mtf::sum(x.h)) + mtf::complete(mtf::sum(x.c));
}
/// The loss, and besides it the results and the last states.
template <class Cell, bool Recomputed = false>
struct loss {
  constexpr auto found(auto const& p, auto const& w) const {
    auto const [last, ys] = mtf::scan<steps>(first_of<Cell>(p), p.xs, [&](auto const& h, auto const& x, std::size_t) {
      if constexpr (Recomputed)
        return mtf::recompute(Cell{}, p.cell, h, x);
      else
        return Cell{}(p.cell, h, x);
    });
    return std::pair(mtf::complete(mtf::sum(ys * w)) + sum_of(last), std::tuple(ys, last));
  }
  constexpr auto operator()(auto const& p, auto const& w) const { return found(p, w).first; }
};

using by_value = mtf::any_layout<0>;
using place = mtf::place<double, by_value, backend>;
mtf::reference::file const& reference() {
  static mtf::reference::file const all(std::string(MTF_TEST_DIR) + "/reference/recurrent.bin");
  return all;
}

constexpr std::array<std::array<std::string_view, 2>, 5> meshes{{{"one:1", ""},
                                                                 {"data:2", "batch:data"},
                                                                 {"model:2", "hidden:model"},
                                                                 {"model:2", "in:model;before:model"},
                                                                 {"data:2;model:2", "batch:data;hidden:model"}}};
template <class F>
void on_each_mesh(F const& f) {
  for (auto const& [mesh, rules_of] : meshes) {
    std::string_view const rules = rules_of;
    CAPTURE(mesh);
    CAPTURE(rules);
    auto const layout = mtf::layout_from(mtf::mesh_from(mesh), rules);
    mtf::rank_threads pool(layout.mesh.shape.size());
    pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
      backend machine(ranks, Kokkos::Serial(Kokkos::NewInstance{}));
      machine.layouts().add(layout);
      f(machine, layout);
    });
  }
}

template <class X>
X read(backend& machine, std::string const& name) {
  return mtf::from_global<X>(machine, reference()[name].values);
}
void check_close(std::vector<double> const& found, std::string const& name) {
  CAPTURE(name);
  auto const& want = reference()[name].values;
  REQUIRE(found.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(found[i] == doctest::Approx(want[i]).epsilon(1e-12).scale(1));
}
/// "all.cell.r.weight_ih" of a walk is "r.weight_ih" of the file, "first.1" is "first.1", "xs" is "xs".
std::string in_file(std::string_view walked) {
  return std::string(walked.starts_with("cell.") ? walked.substr(5) : walked);
}
template <class P>
P parameters(backend& machine, std::string const& cell) {
  P p;
  mtf::for_each_tensor(
      [&](std::string_view name, auto& x) {
        x = read<std::remove_cvref_t<decltype(x)>>(machine, cell + "." + in_file(name));
      },
      p);
  return p;
}

constexpr auto later = mtf::completed_gradients::later;
constexpr auto overlapped = mtf::completed_gradients::overlapped;

template <class Cell, template <template <class...> class> class Structure>
void is_pytorchs(backend& machine, std::string const& cell) {
  auto const p = parameters<Structure<place::tensor>>(machine, cell);
  auto const w = read<place::tensor<steps, batch, hidden>>(machine, cell + ".w");
  auto const f = [](auto const& q, auto const& by) { return loss<Cell>{}.found(q, by); };
  auto const [value, gradients, besides] = mtf::value_and_grad(f)(p, w);
  auto const& [ys, last] = besides;
  check_close({mtf::item(value)}, cell + ".loss");
  check_close(mtf::to_global(ys), cell + ".ys");
  if constexpr (std::is_same_v<Cell, gru_cell>) {
    check_close(mtf::to_global(last), cell + ".last.0");
  } else {
    check_close(mtf::to_global(last.h), cell + ".last.0");
    check_close(mtf::to_global(last.c), cell + ".last.1");
  }
  mtf::for_each_tensor(
      [&](std::string_view name, auto const& g) {
        check_close(mtf::to_global(g.complete()), cell + ".grad." + in_file(name));
      },
      gradients);
  // Computed again: the same bits.
  auto const again = mtf::value_and_grad(loss<Cell, true>{}, overlapped)(p, w);
  CHECK(mtf::item(again.value) == mtf::item(value));
  auto const kept = mtf::value_and_grad(loss<Cell>{}, overlapped)(p, w);
  mtf::for_each_tensor(
      [](std::string_view, auto const& a, auto const& b) { CHECK(a.complete().local() == b.complete().local()); },
      again.gradients, kept.gradients);
}
TEST_CASE("a GRU and an LSTM are PyTorch's, states and gradients, under any layout") {
  on_each_mesh([](auto& machine, auto const&) {
    is_pytorchs<gru_cell, with_inputs<gru, 1>::all>(machine, "gru");
    is_pytorchs<lstm_cell, with_inputs<lstm, 2>::all>(machine, "lstm");
  });
}

template <mtf::completed_gradients When, class F, template <template <class...> class> class Structure>
std::size_t as_planned(backend& machine, mtf::layout_value const& layout, std::string const& cell) {
  auto const plan = mtf::plan_under<When, mtf::state_split_over<>, mtf::without_update>(
      F{}, layout, mtf::parameters<Structure, double>{}, mtf::input<double, steps, batch, hidden>{});
  auto const p = parameters<Structure<place::tensor>>(machine, cell);
  auto const w = read<place::tensor<steps, batch, hidden>>(machine, cell + ".w");
  std::vector<mtf::collectives::event> sent;
  machine.ranks().record(&sent);
  machine.forget_peak();
  {
    auto const result = mtf::value_and_grad(F{}, When)(p, w);
    static_cast<void>(mtf::global_norm(machine, result.gradients));
  }
  machine.ranks().record(nullptr);
  CHECK(sent == plan.unrolled());
  CHECK(machine.peak() == plan.peak_bytes);
  return plan.peak_bytes;
}
TEST_CASE("what a scan along time sends and holds is what was planned") {
  on_each_mesh([](auto& machine, auto const& layout) {
    auto const kept = as_planned<later, loss<gru_cell>, with_inputs<gru, 1>::all>(machine, layout, "gru");
    auto const again = as_planned<later, loss<gru_cell, true>, with_inputs<gru, 1>::all>(machine, layout, "gru");
    CHECK(again < kept);
    as_planned<overlapped, loss<lstm_cell>, with_inputs<lstm, 2>::all>(machine, layout, "lstm");
    as_planned<overlapped, loss<lstm_cell, true>, with_inputs<lstm, 2>::all>(machine, layout, "lstm");
  });
}

// Layouts as types, in a constant expression.
using typed = mtf::layout_of<"data:2;model:2", "batch:data;hidden:model", batch, in, hidden>;
constexpr auto constant_plan = mtf::plan_of<typed>(
    loss<gru_cell>{}, mtf::parameters<with_inputs<gru, 1>::all, double>{}, mtf::input<double, steps, batch, hidden>{});
TEST_CASE("the plan of a scan along time is a constant, in which the steps are a loop") {
  auto const layout = mtf::layout_from(mtf::mesh_from("data:2;model:2"), "batch:data;hidden:model");
  auto const plan = mtf::plan_under(loss<gru_cell>{}, layout, mtf::parameters<with_inputs<gru, 1>::all, double>{},
                                    mtf::input<double, steps, batch, hidden>{});
  CHECK(constant_plan.unrolled() == plan.unrolled());
  CHECK(constant_plan.peak_bytes == plan.peak_bytes);
  CHECK(constant_plan.count() > constant_plan.collectives.size());
}

TEST_CASE("several sequences, integers, sums that nothing reduced, and a step's number") {
  on_each_mesh([](auto& machine, auto const&) {
    auto const xs = mtf::random_normal<place::tensor<batch, steps, in>>(machine, mtf::random_key(1));
    auto const ids = mtf::iota<steps, place::rebound<std::int32_t>::tensor<steps>>(machine);
    auto const zero = mtf::zeros<place::tensor<batch>>(machine);
    auto const [last, ys] =
        mtf::scan<steps>(zero, std::tuple(xs, ids), [](auto const& s, auto const& here, std::size_t i) {
          auto const& [x, id] = here;
          auto const sum = mtf::sum<in>(x);  // partial where `in` is split
          return std::pair(s + mtf::complete(sum) * (mtf::cast<double>(id) + static_cast<double>(i)), sum);
        });
    auto const x = mtf::to_global(xs), sums = mtf::to_global(ys), found = mtf::to_global(last);
    for (std::size_t b = 0; b < 4; ++b) {
      double want = 0;
      for (std::size_t t = 0; t < 7; ++t) {
        double sum = 0;
        for (std::size_t i = 0; i < 6; ++i) sum += x[(b * 7 + t) * 6 + i];
        CHECK(sums[t * 4 + b] == doctest::Approx(sum).scale(1));
        want += sum * 2 * static_cast<double>(t);
      }
      CHECK(found[b] == doctest::Approx(want).scale(1));
    }
  });
}

/// Lengths of which each is stored as a multiple of Pad.
template <int Pad>
struct stored {
  struct time : mtf::dim<"time", 5, mtf::pad_to<Pad>> {};
  struct rows : mtf::dim<"rows", 3, mtf::pad_to<Pad>> {};
  struct width : mtf::dim<"width", 6, mtf::pad_to<Pad>> {};
  template <template <class...> class Tensor>
  struct inputs {
    Tensor<rows, time, width> xs;
    Tensor<rows, width> from;
    MTF_FIELDS(xs, from);
  };
};
/// The results of a scan and its gradients, in global order.
template <class D>
std::vector<std::vector<double>> scanned_with_pads(backend& machine) {
  using time = typename D::time;
  using rows = typename D::rows;
  using width = typename D::width;
  auto const drawn = [&]<class... Dims>(mtf::shape<Dims...> const*, std::uint64_t key) {
    return mtf::random_normal<place::tensor<Dims...>>(machine, mtf::random_key(key));
  };
  typename D::template inputs<place::tensor> const p{
      drawn(static_cast<mtf::shape<rows, time, width> const*>(nullptr), 1),
      drawn(static_cast<mtf::shape<rows, width> const*>(nullptr), 2)};
  auto const w = drawn(static_cast<mtf::shape<time, rows, width> const*>(nullptr), 3);
  auto const f = [](auto const& q, auto const& by) {
    auto const found = mtf::scan<time>(q.from, q.xs, [](auto const& s, auto const& here, std::size_t) {
      auto const next = mtf::cos(s * 0.5 + here);  // of a pad 1, if it were asked
      return std::pair(next, next + s);
    });
    return std::pair(mtf::sum(found.result * by) + mtf::sum(found.carry), found);
  };
  auto const [value, gradients, found] = mtf::value_and_grad(f)(p, w);
  std::vector<std::vector<double>> all{{mtf::item(value)}};
  auto const add = [&](auto const& x) {
    CHECK(pads_are_zero(x));
    all.push_back(mtf::to_global(x));
  };
  add(found.result);
  add(found.carry);
  mtf::for_each_tensor([&](auto, auto const& g) { add(g.complete()); }, gradients);
  return all;
}
TEST_CASE("time, and what else there is, with pads") {
  std::vector<std::vector<double>> want;
  for (auto const& [mesh_text, rules] :
       {std::array<std::string_view, 2>{"one:1", ""}, {"data:2", "rows:data"}, {"data:4", "width:data"}}) {
    CAPTURE(rules);
    auto const mesh = mtf::mesh_from(mesh_text);
    mtf::rank_threads pool(mesh.shape.size());
    pool.run(mesh.shape, [&, rules = rules](mtf::collectives& ranks) {
      backend machine(ranks, Kokkos::Serial(Kokkos::NewInstance{}));
      machine.layouts().add(mtf::layout_from(mesh, rules));
      if (mesh.shape.size() == 1) want = scanned_with_pads<stored<1>>(machine);
      auto const found = scanned_with_pads<stored<4>>(machine);
      REQUIRE(found.size() == want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        REQUIRE(found[i].size() == want[i].size());
        for (std::size_t j = 0; j < want[i].size(); ++j)
          CHECK(found[i][j] == doctest::Approx(want[i][j]).epsilon(1e-12).scale(1));
      }
    });
  }
}

TEST_CASE("a dimension that is split is no time") {
  auto const mesh = mtf::mesh_from("data:7");
  mtf::rank_threads pool(7);
  pool.run(mesh.shape, [&](mtf::collectives& ranks) {
    backend machine(ranks, Kokkos::Serial(Kokkos::NewInstance{}));
    machine.layouts().add(mtf::layout_from(mesh, "steps:data"));
    auto const xs = mtf::zeros<place::tensor<steps, in>>(machine);
    std::string said;
    try {
      static_cast<void>(
          mtf::scan<steps>(mtf::zeros<place::tensor<in>>(machine), xs,
                           [](auto const& s, auto const& x, std::size_t) { return std::pair(s + x, x); }));
    } catch (mtf::user_error const& e) {
      said = e.what();
    }
    CHECK(said.find("scan takes one position of a dimension after the other, so no axis may split it: bring it into "
                    "a layout that does not, by a relayout") == 0);
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
