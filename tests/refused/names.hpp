#pragma once
// The names that the refused programs share.
#include <mtf/mtf.hpp>

struct batch : mtf::dim<"batch", 64> {};
struct sequence : mtf::dim<"sequence", 32> {};
struct memory : mtf::dim<"memory", 32> {};
struct hidden : mtf::dim<"hidden", 1024> {};
struct heads : mtf::dim<"heads", 16> {};
struct vocab : mtf::dim<"vocab", 512> {};
struct digit : mtf::dim<"digit", 10> {};

struct data : mtf::axis<"data", 2> {};
struct model : mtf::axis<"model", 4> {};
struct pods : mtf::axis<"pods", 3> {};

using machine = mtf::mesh<data, model>;
using where = mtf::layout<machine, mtf::split<batch, data>, mtf::split<hidden, model>, mtf::split<heads, model>>;
using elsewhere = mtf::layout<machine, mtf::split<batch, model>>;

template <class... Dims>
using tensor = mtf::place<float, where, mtf::trace>::tensor<Dims...>;
template <class... Dims>
using numbers = mtf::place<std::int32_t, where, mtf::trace>::tensor<Dims...>;
template <class... Dims>
using tensor_elsewhere = mtf::place<float, elsewhere, mtf::trace>::tensor<Dims...>;
