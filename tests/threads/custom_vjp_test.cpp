// Functions of tensors whose backward the program gives: they equal the library's where they mean the same, alone, in
// layers that are computed again, and in plans.
// devices: none
#define DOCTEST_CONFIG_IMPLEMENT
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <mtf/autodiff/custom_vjp.hpp>
#include <mtf/kokkos.hpp>
#include <mtf/mtf.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/plan/plan_under.hpp>
#include <mtf/threads.hpp>

namespace {

using backend = mtf::kokkos_backend<Kokkos::Serial>;

struct batch : mtf::dim<"batch", 8> {};
struct in : mtf::dim<"in", 16> {};
struct hidden : mtf::dim<"hidden", 32> {};

template <template <class...> class Tensor>
struct layer {
  Tensor<in, hidden> w1;
  Tensor<hidden, in> w2;
  MTF_FIELDS(w1, w2);
};
template <template <class...> class Tensor>
struct network {
  std::array<layer<Tensor>, 3> layers;
  Tensor<in> scale;
  MTF_FIELDS(layers, scale);
};

constexpr auto own_tanh = [](auto const& x) {
  return mtf::custom_vjp(
      [](auto const& a) {
        auto const y = mtf::tanh(a);
        return std::pair(y, y);
      },
      [](auto const& y, auto const& g) { return g * (1 - y * y); }, x);
};
/// Its backward's terms are partial where the library's are.
constexpr auto own_product = [](auto const& x, auto const& w) {
  return mtf::custom_vjp(
      [](auto const& a, auto const& b) { return std::pair(mtf::einsum<batch, hidden>(a, b), std::tuple(a, b)); },
      [](auto const& operands, auto const& g) {
        auto const& [a, b] = operands;
        return std::tuple(mtf::einsum<batch, in>(g, b), mtf::einsum<hidden, in>(g, a));  // of w in another order
      },
      x, w);
};
enum class how { library, own, recomputed, within };

/// A whole layer with one backward, which is the library's.
template <how How>
struct one_layer {
  constexpr auto operator()(auto const& p, auto const& scale, auto const& x) const {
    if constexpr (How == how::library) {
      auto const h = mtf::tanh(mtf::einsum<batch, hidden>(x, p.w1));
      return x + mtf::complete(mtf::einsum<batch, in>(h, p.w2)) * scale;
    } else {
      auto const h = own_tanh(own_product(x, p.w1));
      return x + mtf::complete(mtf::einsum<batch, in>(h, p.w2)) * scale;
    }
  }
};
template <how How>
struct loss {
  constexpr auto operator()(auto const& p, auto const& x) const {
    auto const through = mtf::scan(p.layers, x, [&](auto const& each, auto const& y, std::size_t) {
      if constexpr (How == how::recomputed)
        return mtf::recompute(one_layer<How>{}, each, p.scale, y);
      else
        return one_layer<How>{}(each, p.scale, y);
    });
    if constexpr (How == how::within)  // and what recomputes within a forward that has its own backward
      return mtf::mean(mtf::square(mtf::custom_vjp([](auto const& y) { return mtf::recompute(own_tanh, y); },
                                                   [](auto const& g) { return g; }, through)));
    else
      return mtf::mean(mtf::square(through * p.scale));
  }
};

using by_value = mtf::any_layout<0>;
template <class Layout = by_value>
using place = mtf::place<double, Layout, backend>;
using parameters = network<place<>::tensor>;
constexpr mtf::parameters<network, double> planned_parameters;
constexpr mtf::input<double, batch, in> planned_input;

parameters initial(backend& machine) {
  parameters p;
  mtf::for_each_tensor(
      [&](std::string_view name, auto& x) {
        x = mtf::random_normal<std::remove_cvref_t<decltype(x)>>(machine, mtf::random_key(1).of(name), 0, 0.3);
      },
      p);
  return p;
}
auto input_of(backend& machine) { return mtf::random_normal<place<>::tensor<batch, in>>(machine, mtf::random_key(2)); }

constexpr std::array<std::array<std::string_view, 2>, 4> meshes{{{"one:1", ""},
                                                                 {"data:2;model:2", "batch:data;hidden:model"},
                                                                 {"data:2;model:2", "batch:data;in:model"},
                                                                 {"data:4", "batch:data"}}};
template <class F>
void on_each_mesh(F const& f) {
  for (auto const& [mesh, rules_of] : meshes) {
    std::string_view const rules = rules_of;
    CAPTURE(mesh);
    CAPTURE(rules);
    auto const layout = mtf::layout_from(mtf::mesh_from(mesh), rules);
    mtf::rank_threads pool(layout.mesh.shape.size());
    pool.run(layout.mesh.shape, [&](mtf::collectives& ranks) {
      backend machine = backend::one_of_many(ranks);
      machine.layouts().add(layout);
      f(machine, layout);
    });
  }
}

template <class Gradients>
std::vector<double> elements(Gradients const& gradients) {
  std::vector<double> all;
  mtf::for_each_tensor(
      [&](auto, auto const& g) {
        for (double const e : g.complete().local()) all.push_back(e);
      },
      gradients);
  return all;
}
void check_close(std::vector<double> const& found, std::vector<double> const& want) {
  REQUIRE(found.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i) CHECK(found[i] == doctest::Approx(want[i]).epsilon(1e-12).scale(1));
}

constexpr auto later = mtf::completed_gradients::later;
constexpr auto overlapped = mtf::completed_gradients::overlapped;

template <mtf::completed_gradients When, how How>
std::vector<double> gradients_of(backend& machine, std::vector<mtf::collectives::event>& sent) {
  auto const p = initial(machine);
  auto const x = input_of(machine);
  machine.ranks().record(&sent);
  auto const [value, gradients] = mtf::value_and_grad(loss<How>{}, When)(p, x);
  auto all = elements(gradients);
  machine.ranks().record(nullptr);
  all.push_back(mtf::item(value));
  return all;
}

TEST_CASE("a backward that says what the library's says gives the same, and sends the same") {
  on_each_mesh([](auto& machine, auto const&) {
    std::vector<mtf::collectives::event> of_library, of_own, again, ignored;
    auto const want = gradients_of<later, how::library>(machine, of_library);
    check_close(gradients_of<later, how::own>(machine, of_own), want);
    CHECK(of_own == of_library);
    check_close(gradients_of<overlapped, how::own>(machine, ignored), want);
    // To the bit: what is computed again is what was computed.
    CHECK(gradients_of<later, how::recomputed>(machine, again) == gradients_of<later, how::own>(machine, ignored));
  });
}

template <mtf::completed_gradients When, how How>
void sends_as_planned(backend& machine, mtf::layout_value const& layout) {
  auto p = initial(machine);
  mtf::sgd<parameters> optimizer(machine, {});
  auto const plan = mtf::plan_under<When>(loss<How>{}, layout, planned_parameters, planned_input);
  auto const x = input_of(machine);
  std::vector<mtf::collectives::event> sent;
  machine.ranks().record(&sent);
  auto const result = mtf::value_and_grad(loss<How>{}, When)(p, x);
  optimizer.update(machine, p, result.gradients, 0);
  machine.ranks().record(nullptr);
  CHECK(sent == plan.unrolled());
}
TEST_CASE("what is sent is what was planned") {
  on_each_mesh([](auto& machine, auto const& layout) {
    sends_as_planned<later, how::own>(machine, layout);
    sends_as_planned<overlapped, how::own>(machine, layout);
    sends_as_planned<later, how::recomputed>(machine, layout);
    sends_as_planned<overlapped, how::recomputed>(machine, layout);
    sends_as_planned<later, how::within>(machine, layout);
  });
}

// Typed layouts, in a constant expression: the cotangents are partial in their types.
using typed = mtf::layout_of<"data:2;model:2", "batch:data;hidden:model", batch, in, hidden>;
constexpr auto constant_plan = mtf::plan_of<typed>(loss<how::own>{}, planned_parameters, planned_input);
TEST_CASE("a plan is a constant, and that of the layout as a value") {
  auto const layout = mtf::layout_from(mtf::mesh_from("data:2;model:2"), "batch:data;hidden:model");
  auto const plan = mtf::plan_under(loss<how::own>{}, layout, planned_parameters, planned_input);
  auto const of_library = mtf::plan_under(loss<how::library>{}, layout, planned_parameters, planned_input);
  CHECK(constant_plan.unrolled() == plan.unrolled());
  CHECK(constant_plan.peak_bytes == plan.peak_bytes);
  CHECK(constant_plan.flops() == plan.flops());
  CHECK(plan.flops() > of_library.flops());  // the input's too, which nobody asks the library for
}

template <class X, class Y>
struct two {
  X sum;
  Y product;
  MTF_FIELDS(sum, product);
};
template <class X, class Y>
two(X, Y) -> two<X, Y>;

TEST_CASE("several results, operands without a gradient, and cotangents that hold nothing") {
  on_each_mesh([](auto& machine, auto const&) {
    auto const p = initial(machine);
    auto const x = input_of(machine);
    auto const ids = mtf::iota<batch, place<>::rebound<std::int32_t>::tensor<batch>>(machine);
    auto const f = [](auto const& q, auto const& y, auto const& numbers, bool both) {
      auto const [sum, product] =
          mtf::custom_vjp([](auto const& a, auto const& b, auto const& n,
                             double by) { return std::pair(two{a + b, a * b * by}, std::tuple(a, b, n, by)); },
                          [](auto const& kept, auto const& g) {
                            auto const& [a, b, n, by] = kept;
                            static_cast<void>(n);
                            return std::tuple(mtf::sum<batch>(g.sum) + mtf::sum<batch>(g.product * b) * by,
                                              std::remove_cvref_t<decltype(b)>());
                          },
                          q.scale, y, numbers, 2.0);
      return both ? mtf::mean(sum * sum) + mtf::mean(product) : mtf::mean(product);
    };
    auto const plain = [](auto const& q, auto const& y, bool both) {
      auto const sum = q.scale + y, product = q.scale * y * 2;
      return both ? mtf::mean(sum * sum) + mtf::mean(product) : mtf::mean(product);
    };
    for (bool const both : {true, false}) {
      auto const [value, gradients] = mtf::value_and_grad(f)(p, x, ids, both);
      auto const [want, expected] = mtf::value_and_grad(plain)(p, x, both);
      CHECK(mtf::item(value) == doctest::Approx(mtf::item(want)));
      check_close(elements(gradients), elements(expected));
    }
    // Without a tape it is forward.
    CHECK(mtf::item(f(p, x, ids, true)) == doctest::Approx(mtf::item(plain(p, x, true))));
  });
}

TEST_CASE("structures of parameters as an operand") {
  on_each_mesh([](auto& machine, auto const&) {
    auto const p = initial(machine);
    auto const x = input_of(machine);
    // Gradients of the first layer's two matrices: twice what they are, and nothing.
    auto const f = [](auto const& q, auto const& y) {
      return mtf::mean(mtf::square(mtf::custom_vjp(
          [](auto const& each, auto const& z) {
            auto const h = mtf::einsum<batch, hidden>(z, each.w1);
            return std::pair(mtf::complete(h), std::tuple(each, z));
          },
          [](auto const& kept, auto const& g) {
            auto const& [each, z] = kept;
            auto of_each = std::remove_cvref_t<decltype(each)>();
            of_each.w1 = mtf::complete(mtf::einsum<in, hidden>(z, g)) * 2;
            return std::tuple(of_each, mtf::complete(mtf::einsum<batch, in>(g, each.w1)));
          },
          q, y)));
    };
    auto const plain = [](auto const& q, auto const& y) {
      return mtf::mean(mtf::square(mtf::complete(mtf::einsum<batch, hidden>(y, q.w1))));
    };
    auto const found = mtf::value_and_grad(f)(p.layers[0], x).gradients;
    auto const want = mtf::value_and_grad(plain)(p.layers[0], x).gradients;
    auto const first = found.w1.complete().local(), expected = want.w1.complete().local();
    for (std::size_t i = 0; i < first.size(); ++i) CHECK(first[i] == doctest::Approx(2 * expected[i]));
    CHECK(found.w2.is_zero());
  });
}

struct pair : mtf::dim<"pair", 2> {};
struct half : mtf::dim<"half", 8> {};
template <template <class...> class Tensor>
struct only_x {
  Tensor<batch, in> x;
  MTF_FIELDS(x);
};

TEST_CASE("operands that split_dim and merge_dims made") {
  on_each_mesh([&](backend& machine, auto const&) {
    only_x<place<>::tensor> const p{input_of(machine)};
    auto const twice = [](auto const& y) {
      return mtf::custom_vjp([](auto const& z) { return z * 2; }, [](auto const& g) { return g * 2; }, y);
    };
    auto const f = [&](auto const& q) {
      auto const parts = twice(mtf::split_dim<in, pair, half>(q.x));
      auto const again = twice(mtf::merge_dims<pair, half, in>(parts));
      return mtf::sum(mtf::square(again));
    };
    auto const found = mtf::value_and_grad(f)(p).gradients.x.complete().local();
    auto const of_x = p.x.local();
    REQUIRE(found.size() == of_x.size());
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(32 * of_x[i]));
  });
}

TEST_CASE("a tensor with a gradient that forward captures is a user_error, a constant is not") {
  on_each_mesh([&](backend& machine, auto const&) {
    auto const p = initial(machine);
    auto const x = input_of(machine);
    auto const with = [](auto const& scale) {
      return [&](auto const& y) {
        return mtf::custom_vjp([&](auto const& z) { return z * scale; }, [](auto const& g) { return g; }, y);
      };
    };
    auto const captures = [&](auto const& q, auto const& y) { return mtf::mean(with(q.scale)(y)); };
    auto const said_by = [](auto const& call) -> std::string {
      try {
        static_cast<void>(call());
      } catch (mtf::user_error const& e) {
        return e.what();
      }
      return {};
    };
    std::string_view const says = "custom_vjp: its forward captures a tensor that has a gradient";
    CHECK(said_by([&] { return mtf::value_and_grad(captures)(p, x); }).find(says) == 0);
    // x is a constant here: the tape is on for the captured one alone.
    CHECK(said_by([&] { return mtf::value_and_grad([&](auto const& q) { return captures(q, x); })(p); }).find(says) ==
          0);
    auto const constant = [&](auto const& q, auto const& y) {
      return mtf::mean(with(mtf::stop_gradient(q.scale))(y)) + mtf::mean(q.scale);
    };
    CHECK(said_by([&] { return mtf::value_and_grad(constant)(p, x); }).empty());
    CHECK(said_by([&] { return captures(p, x); }).empty());  // nothing is differentiated
  });
}

TEST_CASE("a cotangent that lies otherwise than its operand is a user_error") {
  auto const mesh = mtf::mesh_from("data:2");
  mtf::rank_threads pool(2);
  pool.run(mesh.shape, [&](mtf::collectives& ranks) {
    backend machine = backend::one_of_many(ranks);
    machine.layouts().add(mtf::layout_from(mesh, "batch:data"));
    machine.layouts().add(mtf::layout_from(mesh, ""));
    auto const p = initial(machine);
    auto const f = [](auto const& q) {
      auto const x = mtf::broadcast<batch, in>(q.scale);
      return mtf::mean(mtf::custom_vjp([](auto const& y) { return y * 2; },
                                       [](auto const& g) { return mtf::relayout<mtf::any_layout<1>>(g); }, x));
    };
    std::string said;
    try {
      static_cast<void>(mtf::value_and_grad(f)(p));
    } catch (mtf::user_error const& e) {
      said = e.what();
    }
    CHECK(said.find("custom_vjp: the cotangent of an operand is split along batch as the operand is not") == 0);
  });
}

}  // namespace

int main(int argc, char** argv) {
  backend::session const session(argc, argv);
  return doctest::Context(argc, argv).run();
}
