// What attention sends and computes where sequences are split: the closed forms of the schemes that it derives.
#include <mtf/mtf.hpp>
#include <mtf/ops/nn/attention.hpp>

namespace {

struct batch : mtf::dim<"batch", 2> {};
struct heads : mtf::dim<"heads", 4> {};
struct group : mtf::dim<"group", 2> {};
struct sequence : mtf::dim<"sequence", 1024> {};
struct memory : mtf::dim<"memory", 1024> {};
struct width : mtf::dim<"width", 16> {};
struct p : mtf::axis<"p", 8> {};
struct q : mtf::axis<"q", 2> {};

template <template <class...> class Tensor>
struct operands {
  Tensor<batch, heads, group, sequence, width> q;
  Tensor<batch, heads, memory, width> k, v;
  MTF_FIELDS(q, k, v);
};

using mtf::collective_kind, mtf::pass, mtf::visible;
constexpr visible all() { return visible::everything(); }
constexpr visible earlier() { return visible::causal(); }
template <int N>
constexpr visible near() {
  return visible::window(N);
}
template <class Layout, visible Seen()>
constexpr auto plan_with() {
  return mtf::plan_of<Layout>(
      [](auto const& of) {
        return mtf::sum(mtf::square(mtf::attention<sequence, memory, width>(of.q, of.k, of.v, Seen(), 0.25)));
      },
      mtf::parameters<operands>{});
}
constexpr std::uint64_t sent_by(auto const& plan, mtf::pass when, mtf::collective_kind kind) {
  std::uint64_t n = 0;
  for (auto const& c : plan.collectives)
    if (c.when == when && c.kind == kind) n += c.payload;
  return n;
}
/// One rank's part of keys and values.
constexpr std::uint64_t part = 2 * 2 * 4 * (1024 / 8) * 16 * sizeof(float);

using ring = mtf::layout<mtf::mesh<p>, mtf::split<sequence, p>, mtf::split<memory, p>>;
constexpr auto everything = plan_with<ring, all>();
static_assert(sent_by(everything, pass::forward, collective_kind::permute) == 7 * part);
static_assert(sent_by(everything, pass::backward, collective_kind::permute) == 2 * 7 * part);
static_assert(everything.peak_bytes < 1024 * (1024 / 8) * 2 * 4 * 2 * sizeof(float));  // of scores there are more

// Of the keys that a window shows some are the neighbour's.
constexpr auto window = plan_with<ring, near<1024 / 8 + 1>>();
static_assert(sent_by(window, pass::forward, collective_kind::permute) == part);
static_assert(sent_by(window, pass::backward, collective_kind::permute) == 2 * part);
constexpr auto short_window = plan_with<ring, near<1>>();
static_assert(sent_by(short_window, pass::forward, collective_kind::permute) == 0);

// The last rank's queries see all keys, the first one's hardly any: exchanged by halves, all have as much to do. That
// takes half of q (as large as k and v here) and of the result, backward of its gradient and of q's, and a number a
// query.
constexpr auto causal = plan_with<ring, earlier>();
constexpr double pairs = 1024.0 * 1025 / 2 / 8;
static_assert(causal.flops("attention") == (2 + 5) * 2.0 * 2 * 4 * 2 * 16 * pairs);
static_assert(sent_by(causal, pass::forward, collective_kind::permute) == 7 * part + part / 2 + part / 2);
static_assert(sent_by(causal, pass::backward, collective_kind::permute) ==
              2 * 7 * part + part / 2 + part / 2 + 2 * 4 * 2 * (1024 / 8 / 2) * sizeof(float));
static_assert(everything.flops("attention") == (2 + 5) * 2.0 * 2 * 4 * 2 * 16 * (1024 / 8) * 1024);

// Heads that keys lack are split by what splits the keys: they go round as well.
constexpr auto of_heads = plan_with<mtf::layout<mtf::mesh<q>, mtf::split<group, q>, mtf::split<memory, q>>, all>();
static_assert(sent_by(of_heads, pass::forward, collective_kind::permute) == 4 * part);
static_assert(sent_by(of_heads, pass::backward, collective_kind::permute) == 2 * 4 * part);

// Over an axis of the keys alone: two numbers a query forward and one backward; the result is reduced by what comes
// next.
constexpr auto of_keys = plan_with<mtf::layout<mtf::mesh<q>, mtf::split<memory, q>>, earlier>();
constexpr std::uint64_t rows = 2 * 4 * 2 * 1024 * sizeof(float);
static_assert(sent_by(of_keys, pass::forward, collective_kind::permute) == 0);
static_assert(sent_by(of_keys, pass::forward, collective_kind::all_reduce) == 2 * rows + 16 * rows);
static_assert(sent_by(of_keys, pass::backward, collective_kind::all_reduce) == rows);

// The queries alone are split: nothing is sent but what sums the loss.
constexpr auto of_queries = plan_with<mtf::layout<mtf::mesh<p>, mtf::split<sequence, p>>, earlier>();
static_assert(of_queries.bytes_sent_per_rank(pass::forward) <= 2 * sizeof(float));

}  // namespace
