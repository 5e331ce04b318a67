// Tensors as one with a dimension more, and back: types, and what gradients send.
#include "names.hpp"

#include <tuple>

#include <mtf/ops/movement.hpp>

struct three : mtf::dim<"three", 3> {};
struct four : mtf::dim<"four", 4> {};
using tensors = mtf::place<float, where, mtf::trace>;
using split_four = mtf::layout<machine, mtf::split<batch, rows>, mtf::split<four, cols>>;
using others = mtf::place<float, split_four, mtf::trace>;

using x = tensors::tensor<batch, hidden>;
using y = tensors::tensor<hidden, batch>;
static_assert(same<decltype(mtf::stacked<three>(std::declval<x>(), std::declval<y>(), std::declval<x>())),
                   tensors::tensor<three, batch, hidden>>);
static_assert(
    same<decltype(mtf::unstacked<three>(std::declval<tensors::tensor<batch, three, hidden>>())), std::tuple<x, x, x>>);

// Where the dimension is split each rank has its own: the results are terms of sums.
using parts = decltype(mtf::unstacked<four>(std::declval<others::tensor<four, batch>>()));
static_assert(std::tuple_size_v<parts> == 4 && std::tuple_element_t<3, parts>::spec.partial == 0b10);

constexpr auto there = mtf::plan_of<split_four>(
    [](auto const& one, auto const& other) { return mtf::stacked<four>(one, other, other, one); },
    mtf::input<float, batch, digit>{}, mtf::input<float, digit, batch>{});
static_assert(there.count() == 0);
