// The machine: ranks, coordinates, groups, and what collectives send.
#include <mtf/backend/collective.hpp>
#include <mtf/core/mesh.hpp>

struct pods : mtf::axis<"pods", 2> {};
struct rows : mtf::axis<"rows", 3, mtf::link::node> {};
struct cols : mtf::axis<"cols", 4, mtf::link::node> {};
using machine = mtf::mesh<pods, rows, cols>;

static_assert(machine::size == 24 && machine::ndim == 3 && mtf::mesh<>::size == 1);
static_assert(machine::find(pods::id) == 0 && machine::find(cols::id) == 2 && machine::find(1) == -1);
static_assert(std::is_same_v<machine::at<1>, rows>);

constexpr mtf::mesh_shape m = machine::shape();
static_assert(m.ndim == 3 && m.size() == 24 && m.extent[0] == 2 && m.extent[1] == 3 && m.extent[2] == 4);
static_assert(m.node_axes == 0b110);
static_assert(m.size(0) == 1 && m.size(0b001) == 2 && m.size(0b110) == 12 && m.size(0b111) == 24);

// Row-major: the last axis varies fastest.
static_assert(m.coordinate(0, 0) == 0 && m.coordinate(23, 0) == 1 && m.coordinate(23, 1) == 2 &&
              m.coordinate(23, 2) == 3);
static_assert(m.coordinate(17, 0) == 1 && m.coordinate(17, 1) == 1 && m.coordinate(17, 2) == 1);
static_assert(m.index_within(17, 0b111) == 17 && m.index_within(17, 0) == 0);
static_assert(m.index_within(17, 0b101) == 5 && m.group_of(17, 0b101) == 1);
static_assert(m.index_within(17, 0b010) == 1 && m.group_of(17, 0b010) == 5);

// Along any set of axes, group and index within it name each rank once.
constexpr bool groups_partition_the_mesh() {
  for (mtf::axis_mask axes = 0; axes < 8; ++axes) {
    std::array<int, 24> seen{};
    for (int r = 0; r < m.size(); ++r) {
      int const group = m.group_of(r, axes), index = m.index_within(r, axes);
      if (index < 0 || index >= m.size(axes) || group < 0 || group * m.size(axes) >= m.size()) return false;
      if (seen[static_cast<std::size_t>(group * m.size(axes) + index)]++ != 0) return false;
      for (int q = 0; q < m.size(); ++q) {  // ranks of one group differ only along `axes`
        bool differ = false;
        for (int a = 0; a < m.ndim; ++a)
          differ = differ || (((axes >> a) & 1U) == 0 && m.coordinate(r, a) != m.coordinate(q, a));
        if ((m.group_of(q, axes) == group) == differ) return false;
      }
    }
  }
  return true;
}
static_assert(groups_partition_the_mesh());

// Bytes of bandwidth-optimal algorithms.
using mtf::bytes_sent;
using mtf::collective_kind;
static_assert(bytes_sent(collective_kind::all_reduce, 400, 4) == 600);
static_assert(bytes_sent(collective_kind::reduce_scatter, 400, 4) == 300);
static_assert(bytes_sent(collective_kind::all_to_all, 400, 4) == 300);
static_assert(bytes_sent(collective_kind::all_gather, 100, 4) == 300);
static_assert(bytes_sent(collective_kind::permute, 100, 4) == 100);
static_assert(bytes_sent(collective_kind::all_reduce, 400, 1) == 0 &&
              bytes_sent(collective_kind::all_gather, 400, 1) == 0);

// Each hands the sum so far to the next.
static_assert(bytes_sent(collective_kind::exclusive_sum, 100, 4) == 100 &&
              bytes_sent(collective_kind::exclusive_sum, 100, 1) == 0);

// A collective's data: one block, or one for each of 4 ranks.
using mtf::collective;
constexpr bool has(collective const& c, std::size_t in, std::size_t out) {
  return c.elements_in(4) == in && c.elements_out(4) == out && c.payload(4) == in * 8;
}
static_assert(has(collective::all_reduce(1, mtf::combine::max, mtf::element::f64, 5), 5, 5) &&
              has(collective::reduce_scatter(1, mtf::element::f64, 5), 20, 5) &&
              has(collective::all_gather(1, mtf::element::f64, 5), 5, 20) &&
              has(collective::all_to_all(1, mtf::element::f64, 5), 20, 20) &&
              has(collective::permute(1, mtf::element::f64, 5, 0, 0), 5, 5) &&
              has(collective::exclusive_sum(1, mtf::element::f64, 5), 5, 5));

// Rank 4 of 2 x 3 is in the middle of its row and at the end of its column.
constexpr mtf::mesh_shape two_by_three{2, {2, 3}};
constexpr bool shifts(int axis, int by, int to, int from) {
  auto const c = collective::shift(two_by_three, 4, axis, by, mtf::element::f32, 1);
  return c.kind == collective_kind::permute && c.axes == 1U << static_cast<unsigned>(axis) && c.to == to &&
         c.from == from;
}
static_assert(shifts(1, 1, 5, 3) && shifts(1, -1, 3, 5) && shifts(1, 0, 4, 4) && shifts(1, 2, -1, -1) &&
              shifts(0, 1, -1, 1) && shifts(0, -1, 1, -1));
