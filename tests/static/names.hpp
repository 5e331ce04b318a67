#pragma once
// The names that the static tests share.
#include <type_traits>

#include <mtf/mtf.hpp>

struct batch : mtf::dim<"batch", 64> {};
struct sequence : mtf::dim<"sequence", 32> {};
struct memory : mtf::dim<"memory", 32> {};
struct hidden : mtf::dim<"hidden", 128> {};
struct heads : mtf::dim<"heads", 16> {};
struct vocab : mtf::dim<"vocab", 512> {};
struct digit : mtf::dim<"digit", 10> {};
struct kind : mtf::dim<"kind", 10> {};

struct rows : mtf::axis<"rows", 2> {};
struct cols : mtf::axis<"cols", 4> {};
struct pods : mtf::axis<"pods", 3> {};

using machine = mtf::mesh<rows, cols>;
using where = mtf::layout<machine, mtf::split<batch, rows>, mtf::split<hidden, cols>>;

template <class A, class B>
inline constexpr bool same = std::is_same_v<std::remove_cvref_t<A>, B>;
