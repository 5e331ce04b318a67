// Plans under layouts that are values are those under the same layouts as types: event by event, with all figures.
// devices: none
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include <mtf/mtf.hpp>
#include <mtf/plan/plan_under.hpp>

#include "../support/error_of.hpp"
#include "../support/same_plan.hpp"
#include "support/model_loss.hpp"

namespace {

using config = small_config;
using loss_of = model_loss<config>;
constexpr auto parameters = loss_of::parameters;
constexpr auto tokens = loss_of::tokens;
using split = mtf::state_split_over<config::batch, config::sequence>;
constexpr auto overlapped = mtf::completed_gradients::overlapped;

template <mtf::fixed_string Mesh, mtf::fixed_string Rules>
void plans_are_equal() {
  CAPTURE(Mesh.view());
  CAPTURE(Rules.view());
  using layout = mtf::layout_of<Mesh, Rules, config::batch, config::sequence, config::memory, config::d_model,
                                config::heads, config::d_head, config::d_ff, config::vocab>;
  static constexpr auto typed = mtf::plan_of<layout, overlapped, split>(loss_of{}, parameters, tokens, tokens);
  auto const value = mtf::layout_from(mtf::mesh_from(Mesh.view()), Rules.view());
  CHECK(value == mtf::value_of<layout>);
  CHECK(same_plan(typed, mtf::plan_under<overlapped, split>(loss_of{}, value, parameters, tokens, tokens)));
  CHECK(mtf::describe(typed) ==
        mtf::describe(mtf::plan_under<overlapped, split>(loss_of{}, value, parameters, tokens, tokens)));
}

constexpr auto four = mtf::mesh_from("data:2;model:2");
constexpr std::array few{mtf::layout_from(four, "batch:data;heads:model;d_ff:model;vocab:model"),
                         mtf::layout_from(four, "batch:data+model"), mtf::layout_from(four, "d_model:model")};
// One plan a constant expression: Clang bounds their steps.
template <std::size_t I>
constexpr std::uint64_t bytes_sent =
    mtf::plan_under(loss_of{}, few[I], parameters, tokens, tokens).bytes_sent_per_rank();
constexpr std::array<std::uint64_t, few.size()> sent_bytes{bytes_sent<0>, bytes_sent<1>, bytes_sent<2>};

std::string refusal_of(std::string_view rules, std::string_view mesh = "data:2;model:2") {
  return error_of([&] {
    return mtf::plan_under(loss_of{}, mtf::layout_from(mtf::mesh_from(mesh), rules), parameters, tokens, tokens);
  });
}

}  // namespace

TEST_CASE("plans by value are the typed ones") {
  plans_are_equal<"one:1", "">();
  plans_are_equal<"data:2;model:2", "batch:data;heads:model;d_ff:model;vocab:model">();
  plans_are_equal<"data:2;model:2", "batch:data+model">();
  plans_are_equal<"data:2;seq:2;model:2", "batch:data;sequence:seq;heads:model;d_ff:model;vocab:model">();
  plans_are_equal<"a:2;b:2", "d_model:a;batch:b">();
}

TEST_CASE("in a constant expression as when the program runs") {
  for (std::size_t i = 0; i < few.size(); ++i)
    CHECK(mtf::plan_under(loss_of{}, few[i], parameters, tokens, tokens).bytes_sent_per_rank() == sent_bytes[i]);
}

TEST_CASE("what is wrong with a layout is said in the compiler's words, or in others where these speak of types") {
  CHECK(refusal_of("batch:data") == "");
  CHECK(
      refusal_of("batch:data;sequence:data") ==
      "the layout is not injective: two dimensions of one tensor are split over one mesh axis; split one of them over "
      "another axis, or not at all; here: batch 16, sequence 8, data 2");
  CHECK(refusal_of("batch:date") ==
        "a layout splits a dimension over an axis that its mesh lacks; here: batch, date, [data:2 model:2]");
  CHECK(refusal_of("batch:data;batch:model") ==
        "a layout has two rules for one dimension; to split it over two axes write one, such as batch:data+model; "
        "here: batch");
  CHECK(refusal_of("batch:data+data") ==
        "a mesh, or one split, names an axis twice: each axis may appear once; here: data");
  CHECK(refusal_of("color:data") ==
        "a layout splits a dimension that no tensor of the planned program has: drop the rule, or change the program; "
        "here: color");
  CHECK(refusal_of("batch:odd", "odd:3") ==
        "the ranks that split a dimension do not divide its extent: take one that fits, or pad it, as vocab:50257/8 "
        "does; here: batch 16 over 3 ranks, which divide 15 and 18");
  CHECK(refusal_of("batch:odd", "odd:17") ==
        "the ranks that split a dimension do not divide its extent: take one that fits, or pad it, as vocab:50257/8 "
        "does; here: batch 16 over 17 ranks, which divide 17");
  CHECK(refusal_of("", "data") == "a textual mesh gives an axis no number of ranks: write data:2;model:4; here: data");
  CHECK(refusal_of("", "data:9999999999999999999") ==
        "a textual mesh gives an axis no number of ranks: write data:2;model:4; here: data");
  CHECK(refusal_of("", "data:65536;model:32768") ==
        "a mesh has at most 2147483647 ranks, but 'data:65536;model:32768' has more");
  CHECK(mtf::mesh_from("data:65536;model:32767").shape.size() == 65536 * 32767);
  CHECK(refusal_of("", "data:2;data:2") ==
        "a mesh, or one split, names an axis twice: each axis may appear once; here: data");
}

TEST_CASE("no refusal speaks of the types of C++") {
  for (auto const* const rules :
       {"batch:date", "batch:data;batch:model", "batch:data+data", "color:data", "batch:data;sequence:data"})
    for (auto const* const of : {"<", ">", "::", "processor", "error_"}) {
      auto const text = refusal_of(rules);
      CAPTURE(text);
      CHECK(!text.empty());
      CHECK(text.find(of) == std::string::npos);
    }
}

TEST_CASE("a layout for listed dimensions") {
  auto const mesh = mtf::mesh_from("data:3");
  CHECK(mtf::layout_from<config::d_ff, config::vocab>(mesh, "vocab:data").text() == "vocab:data");
  CHECK_THROWS_WITH_AS((mtf::layout_from<config::d_ff, config::vocab>(mesh, "vocabulary:data")),
                       "a textual layout names a dimension or an axis that is not in the list behind it; "
                       "here: vocabulary, d_ff, vocab",
                       mtf::user_error);
  CHECK_THROWS_WITH_AS((mtf::layout_from<config::d_ff, config::vocab>(mesh, "d_ff:data")),
                       "the ranks that split a dimension do not divide its extent: take one that fits, or pad it, as "
                       "vocab:50257/8 does; here: d_ff 32 over 3 ranks, which divide 30 and 33",
                       mtf::user_error);
}

TEST_CASE("what is wrong with the operands of an operation, too, and which it is") {
  auto const mesh = mtf::mesh_from("data:2;model:2");
  std::array const layouts{mtf::layout_from(mesh, "batch:data"), mtf::layout_from(mesh, "batch:model")};
  constexpr mtf::input<float, config::batch, config::d_ff> x;
  constexpr mtf::input<float, config::d_ff, config::d_model> w;
  constexpr mtf::input<float, config::d_model> b;
  auto const refusal = [&](std::span<mtf::layout_value const> given, auto const& f, auto... in) {
    return error_of([&] { return mtf::plan_under(f, given, in...); });
  };
  std::string const split =
      "two operands split one dimension differently; bring one into the other's layout by a relayout; "
      "here: batch 16, [batch:model], [batch:data]; by ";
  auto const sum = [](auto const& y, auto const& z) { return mtf::relayout<mtf::any_layout<1>>(y) + z; };
  CHECK(refusal(layouts, sum, x, x) == split + "add");
  CHECK(refusal(
            layouts,
            [](auto const& y, auto const& z) {
              return mtf::einsum<config::batch>(mtf::relayout<mtf::any_layout<1>>(y), z);
            },
            x, x) == split + "einsum");
  CHECK(refusal(std::span(layouts).first(1), sum, x, x) ==
        "a tensor of any_layout<1> is asked for, but the backend was given 1 layouts: call "
        "backend.layouts().add(layout) first");

  std::string const one_axis =
      "the layout is not injective: two dimensions of one tensor are split over one mesh axis; split one of them over "
      "another axis, or not at all; here: ";
  std::array const crossed{mtf::layout_from(mesh, "batch:data;d_model:data")};
  auto const linear = [](auto const& y, auto const& u, auto const& v) {
    return mtf::linear<config::batch, config::d_model>(y, u, v);
  };
  CHECK(refusal(crossed, linear, x, w, b) == one_axis + "batch 16, d_model 16, data 2; by linear");
  CHECK(refusal(
            crossed, [](auto const& y) { return mtf::broadcast<config::batch, config::d_model>(y); }, b) ==
        one_axis + "batch 16, d_model 16, data 2; by broadcast");
  std::array const named{mtf::layout_from(mesh, "sequence:data;batch:data")};
  CHECK(refusal(
            named, [](auto const& y) { return mtf::rename<config::heads, config::d_head>(y); },
            mtf::input<float, config::heads, config::batch>{}) ==
        "a layout splits a dimension that no tensor of the "
        "planned program has: drop the rule, or change the program; here: sequence");
  std::array const other{mtf::layout_from(mtf::mesh_from("data:4"), "")};
  CHECK_THROWS_WITH_AS(
      mtf::plan_under([](auto const& y) { return y; }, std::span(std::array{layouts[0], other[0]}.data(), 2), b),
      "two operands live on different meshes; a program's tensors share one mesh; here: [data:2 model:2], "
      "[data:4]",
      mtf::user_error);
}
