// A dimension that is another's alias is split as that one, where no rule names it: as a type and as a value.
// devices: none
#include <mtf/mtf.hpp>
#include <mtf/ops/movement.hpp>
#include <mtf/plan/plan_of.hpp>

namespace {

struct data : mtf::axis<"data", 2> {};
struct sp : mtf::axis<"sp", 2> {};
struct batch : mtf::dim<"batch", 8> {};
struct sequence : mtf::dim<"sequence", 16> {};
struct memory : mtf::alias<"memory", sequence> {};
struct third : mtf::alias<"third", memory> {};
static_assert(memory::extent == 16 && memory::kin == sequence::id && third::kin == sequence::id);

template <mtf::fixed_string Rules>
using under = mtf::layout_of<"data:2;sp:2", Rules, batch, sequence, memory, third>;
constexpr mtf::axis_mask by_data = 1, by_sp = 2;

template <class Layout, class... D>
using tensor = typename mtf::place<float, Layout, mtf::trace>::template tensor<D...>;
template <class Layout, class D>
constexpr mtf::axis_mask split = tensor<Layout, D>::spec[0].split.mask();

static_assert(split<under<"sequence:sp">, memory> == by_sp && split<under<"sequence:sp">, third> == by_sp);
static_assert(split<under<"sequence:sp;memory:data">, memory> == by_data);
static_assert(split<under<"sequence:sp;memory:">, memory> == 0);
static_assert(split<under<"memory:sp">, sequence> == 0);

// As a value.
template <mtf::fixed_string Rules>
constexpr mtf::axis_mask split_by_value =
    mtf::layout_from<batch, sequence, memory, third>(mtf::mesh_from("data:2;sp:2"), Rules.view())
        .split_of(memory::id, memory::kin)
        .mask();
static_assert(split_by_value<"sequence:sp"> == by_sp && split_by_value<"sequence:sp;memory:data"> == by_data &&
              split_by_value<"sequence:sp;memory:"> == 0);

// A new name for a dimension sends nothing; a result that is not split as its kin has a layout that says so.
template <class Layout>
using keys = decltype(mtf::rename<sequence, memory>(tensor<Layout, batch, sequence>{}));
static_assert(keys<under<"sequence:sp">>::spec[1].split.mask() == by_sp);
static_assert(keys<under<"sequence:sp;memory:">>::spec[1].split.mask() == 0);
using gathered = decltype(mtf::relayout<under<"">>(tensor<under<"sequence:sp">, batch, memory>{}));
static_assert(gathered::spec[1].split.size == 0);
using products =
    decltype(mtf::einsum<sequence, memory>(tensor<under<"batch:data;sequence:sp;memory:">, batch, sequence>{},
                                           tensor<under<"batch:data;sequence:sp;memory:">, batch, memory>{}));
static_assert(products::spec[0].split.mask() == by_sp && products::spec[1].split.size == 0);

// What renaming sends: an all-gather where the alias is whole.
constexpr auto renamed = [](auto const& x) { return mtf::rename<sequence, memory>(x); };
template <mtf::fixed_string Rules>
constexpr auto sent = mtf::plan_of<under<Rules>>(renamed, mtf::input<float, batch, sequence>{}).count();
static_assert(sent<"sequence:sp"> == 0 && sent<"sequence:sp;memory:"> == 1);

}  // namespace
