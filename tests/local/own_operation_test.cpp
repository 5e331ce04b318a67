// An operation of one's own, written as docs/adding-an-operation.md says, states no refusal of layouts: where its
// operands cannot meet it is refused, by type and by value, as x * z is.
// devices: none
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>

#include "../support/error_of.hpp"

namespace {

struct batch : mtf::dim<"batch", 8> {};
struct seq : mtf::dim<"seq", 8> {};
struct width : mtf::dim<"width", 4> {};
struct data : mtf::axis<"data", 2> {};
struct sp : mtf::axis<"sp", 2> {};

/// x, where z may meet it.
template <class T>
struct beside_operation {
  mtf::detail::operation_work<2> const* work;
  static constexpr std::size_t kept = 0;
  static constexpr char const* name() { return "beside"; }
  constexpr void forward(auto& f) const { f.out = f.memory(); }
  constexpr void backward(auto& g) const { g.template set_dx<0>(g.g.memory); }
};
struct beside_call {
  template <class X, class Z>
  static auto verdict() -> mtf::detail::same_element_t<X, Z>;
  static constexpr mtf::detail::operation_work<2> derive(mtf::mesh_shape const&, mtf::sharding const& x,
                                                         mtf::sharding const& z) {
    mtf::detail::operation_work<2> w{.in = {x, z}, .out = x};
    w.out.partial = 0;
    w.complete = {x.partial, z.partial};
    return w;
  }
  template <class X, class Z>
  constexpr auto operator()(X const& x, Z const& z) const {
    using out = mtf::detail::reshaped<typename X::description, typename X::shape_type, 0>;
    return mtf::detail::run_as<out, beside_call>(beside_operation<typename X::element_type>{nullptr}, x, z);
  }
};
constexpr auto beside(auto const& x, auto const& z) { return mtf::detail::operate(beside_call{}, x, z); }

// As types.
using on = mtf::mesh<data, sp>;
template <class Layout, class... D>
using described = typename mtf::place<float, Layout, mtf::trace>::template tensor<D...>::description;
template <class X, class Z>
using verdict_t = decltype(mtf::detail::call_verdict<beside_call, X, Z>());
using split = mtf::layout<on, mtf::split<batch, data>>;
using otherwise = mtf::layout<on, mtf::split<batch, sp>>;
using both = mtf::layout<on, mtf::split<batch, data>, mtf::split<seq, data>>;
static_assert(std::is_same_v<verdict_t<described<split, batch, width>, described<split, batch, width>>, mtf::ok>);
static_assert(std::is_same_v<verdict_t<described<split, batch, width>, described<otherwise, batch, width>>,
                             mtf::error_split_differently<batch, split, otherwise>>);
static_assert(std::is_same_v<verdict_t<described<both, batch, width>, described<both, seq, width>>,
                             mtf::error_two_dims_on_one_axis<batch, seq, data>>);

// As values.
constexpr auto mesh = mtf::mesh_from("data:2;sp:2");
std::string refusal(auto const& loss, std::string_view rules) {
  return error_of([&] {
    return mtf::plan_under(loss, mtf::layout_from(mesh, rules), mtf::input<float, batch, width>{},
                           mtf::input<float, seq, width>{});
  });
}
std::string refusal_of_two(auto const& loss) {
  std::array const layouts{mtf::layout_from(mesh, "batch:data"), mtf::layout_from(mesh, "batch:sp")};
  return error_of([&] { return mtf::plan_under(loss, layouts, mtf::input<float, batch, width>{}); });
}
/// What is said, without the operation's name.
std::string sentence(std::string const& text) { return text.substr(0, text.rfind("; by ")); }

}  // namespace

TEST_CASE("operands that cannot meet are refused where layouts are values, whatever the operation states") {
  auto const own = [](auto const& x, auto const& z) { return mtf::sum(beside(x, z)); };
  auto const product = [](auto const& x, auto const& z) { return mtf::sum(x * z); };
  CHECK(refusal(own, "batch:data") == "");
  CHECK(refusal(own, "batch:data;seq:sp") == "");
  CHECK(refusal(own, "batch:data;seq:data") != "");
  CHECK(refusal(own, "batch:data;seq:data").find("; by beside") != std::string::npos);
  CHECK(sentence(refusal(own, "batch:data;seq:data")) == sentence(refusal(product, "batch:data;seq:data")));

  auto const own_two = [](auto const& x) { return mtf::sum(beside(x, mtf::relayout<mtf::any_layout<1>>(x))); };
  auto const product_two = [](auto const& x) { return mtf::sum(x * mtf::relayout<mtf::any_layout<1>>(x)); };
  CHECK(refusal_of_two(own_two) != "");
  CHECK(sentence(refusal_of_two(own_two)) == sentence(refusal_of_two(product_two)));
}
