// The types of results: dimensions and their order, layouts, what is partial, element types.
#include "names.hpp"

using mtf::bfloat16;
using mtf::partial;
using mtf::shape;

template <class Shape, class Partial = partial<>, class T = float, class Layout = where>
using made = mtf::tensor<T, Shape, Layout, Partial, mtf::trace>;
template <class... D>
using whole = made<shape<D...>>;

// Operands, never defined.
extern whole<batch, hidden> const x;
extern whole<hidden, digit> const w;
extern whole<batch, digit> const y;
extern whole<digit, batch> const turned;
extern whole<batch> const column;
extern whole<digit> const bias;
extern whole<> const scalar;
using partial_y = made<shape<batch, digit>, partial<cols>>;
extern partial_y const p;

// --- contractions and sums: partial over what split the dimensions that are gone

static_assert(same<decltype(mtf::einsum<batch, digit>(x, w)), partial_y>);
static_assert(same<decltype(mtf::einsum<digit, batch>(x, w)), made<shape<digit, batch>, partial<cols>>>);
static_assert(same<decltype(mtf::einsum<hidden, digit>(x, y)), made<shape<hidden, digit>, partial<rows>>>);
static_assert(same<decltype(mtf::einsum<batch, hidden>(y, w)), whole<batch, hidden>>, "digit is not split");
static_assert(same<decltype(mtf::einsum<>(x, x)), made<shape<>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::einsum<batch, hidden, digit>(x, bias)), whole<batch, hidden, digit>>, "outer product");
static_assert(same<decltype(mtf::einsum<hidden>(x)), made<shape<hidden>, partial<rows>>>);
static_assert(same<decltype(mtf::einsum<hidden, batch>(x)), whole<hidden, batch>>);
static_assert(same<decltype(mtf::einsum<digit>(x, w, column)), made<shape<digit>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::einsum<digit>(x, w, column, scalar)), made<shape<digit>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::einsum<batch>(p, bias)), made<shape<batch>, partial<cols>>>,
              "a partial operand stays so");
static_assert(same<decltype(mtf::einsum<batch>(p, p)), whole<batch>>, "not two of them");
static_assert(same<decltype(mtf::einsum<digit>(p, y)), made<shape<digit>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::einsum<batch, hidden>(p, w)), whole<batch, hidden>>, "completed: w varies along cols");

static_assert(same<decltype(mtf::sum<batch>(x)), made<shape<hidden>, partial<rows>>>);
static_assert(same<decltype(mtf::sum<hidden>(x)), made<shape<batch>, partial<cols>>>);
static_assert(same<decltype(mtf::sum<batch, hidden>(x)), made<shape<>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::sum(x)), made<shape<>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::sum<digit>(y)), whole<batch>>);
static_assert(same<decltype(mtf::sum<batch>(p)), made<shape<digit>, partial<rows, cols>>>, "further sums");
static_assert(same<decltype(mtf::mean<batch>(p)), made<shape<digit>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::mean(x)), made<shape<>, partial<rows, cols>>>);
static_assert(same<decltype(mtf::reduce_max<batch>(x)), whole<hidden>>);
static_assert(same<decltype(mtf::reduce_min<batch>(p)), whole<digit>>);

// --- what partial tensors pass through

static_assert(same<decltype(p + p), partial_y> && same<decltype(p - p), partial_y> && same<decltype(-p), partial_y>);
static_assert(same<decltype(p + y), whole<batch, digit>> && same<decltype(y - p), whole<batch, digit>>);
static_assert(same<decltype(p + 1), whole<batch, digit>> && same<decltype(1 - p), whole<batch, digit>>);
static_assert(same<decltype(p * 2), partial_y> && same<decltype(0.5 * p), partial_y> &&
              same<decltype(p / 3), partial_y>);
static_assert(same<decltype(1 / p), whole<batch, digit>>);
static_assert(same<decltype(p * y), partial_y> && same<decltype(bias * p), partial_y>);
static_assert(same<decltype(p * p), whole<batch, digit>>);
static_assert(same<decltype(p / y), partial_y> && same<decltype(y / p), whole<batch, digit>> &&
              same<decltype(p / p), whole<batch, digit>>);
static_assert(same<decltype(p * x), whole<batch, digit, hidden>>, "completed: x varies along cols");
static_assert(same<decltype(p + x), whole<batch, digit, hidden>>);
extern made<shape<batch, digit>, partial<rows, cols>, float, mtf::layout<machine>> const both;
extern made<shape<batch, digit>, partial<rows>, float, mtf::layout<machine>> const one;
static_assert(same<decltype(both + one), made<shape<batch, digit>, partial<rows>, float, mtf::layout<machine>>>,
              "axes over which all operands are partial");
static_assert(same<decltype(both * one), made<shape<batch, digit>, partial<cols>, float, mtf::layout<machine>>>,
              "axes over which one operand is partial");
static_assert(same<decltype(mtf::relu(p)), whole<batch, digit>> && same<decltype(mtf::exp(p)), whole<batch, digit>>);
static_assert(same<decltype(mtf::max(p, p)), whole<batch, digit>> &&
              same<decltype(mtf::where(y > 0, p, p)), whole<batch, digit>>);
static_assert(same<decltype(mtf::transpose<digit, batch>(p)), made<shape<digit, batch>, partial<cols>>>);
static_assert(same<decltype(mtf::transpose<batch, digit>(p)), partial_y>);
static_assert(same<decltype(mtf::rename<digit, kind>(p)), made<shape<batch, kind>, partial<cols>>>);
static_assert(same<decltype(mtf::dropout(p, 0.5, mtf::random_key(1))), partial_y>);
static_assert(same<decltype(mtf::stop_gradient(p)), partial_y>);
static_assert(same<decltype(mtf::complete(p)), whole<batch, digit>> &&
              same<decltype(mtf::complete(y)), whole<batch, digit>>);
static_assert(same<decltype(mtf::broadcast<kind, batch, digit>(p)), made<shape<kind, batch, digit>, partial<cols>>>);
static_assert(same<decltype(mtf::broadcast<batch, hidden, digit>(p)), whole<batch, hidden, digit>>,
              "hidden is split over cols");
static_assert(same<decltype(mtf::softmax<digit>(p)), whole<batch, digit>> &&
              same<decltype(mtf::log_softmax<digit>(p)), whole<batch, digit>>);
static_assert(same<decltype(mtf::logsumexp<digit>(p)), whole<batch>> &&
              same<decltype(mtf::logsumexp<hidden>(x)), whole<batch>>);
static_assert(same<decltype(mtf::layer_norm<digit>(p, bias, bias)), whole<batch, digit>>);
static_assert(same<decltype(mtf::rms_norm<digit>(p, bias)), whole<batch, digit>>);

// --- element types

extern made<shape<batch>, partial<cols>, double> const wide;
extern made<shape<batch>, partial<cols>, bfloat16> const narrow;
extern made<shape<batch>, partial<>, std::int32_t> const numbers;
static_assert(same<decltype(mtf::cast<double>(p)), made<shape<batch, digit>, partial<cols>, double>>);
static_assert(same<decltype(mtf::cast<float>(p)), partial_y>);
static_assert(same<decltype(mtf::cast<float>(narrow)), made<shape<batch>, partial<cols>>>);
static_assert(same<decltype(mtf::cast<bfloat16>(p)), made<shape<batch, digit>, partial<>, bfloat16>>,
              "sums are taken in the wider type");
static_assert(same<decltype(mtf::cast<float>(wide)), whole<batch>>);
static_assert(same<decltype(mtf::cast<std::int32_t>(p)), made<shape<batch, digit>, partial<>, std::int32_t>>,
              "rounding is not linear");
static_assert(same<decltype(narrow + narrow), made<shape<batch>, partial<cols>, bfloat16>>);
static_assert(same<decltype(narrow * 2.0), made<shape<batch>, partial<cols>, bfloat16>>);
static_assert(same<decltype(column * 2.0), whole<batch>>, "numbers are taken in the tensor's type");
struct pick {
  template <class A>
  MTF_FUNCTION A operator()(A x, std::int32_t n) const {
    return n == 0 ? x : -x;
  }
};
static_assert(same<decltype(mtf::map(pick{}, narrow, numbers)), made<shape<batch>, partial<>, bfloat16>>);
static_assert(same<decltype(column < column), made<shape<batch>, partial<>, bool>>);
static_assert(same<decltype(narrow == 0), made<shape<batch>, partial<>, bool>>);
static_assert(same<decltype(mtf::where(column < 0, narrow, narrow)), made<shape<batch>, partial<>, bfloat16>>);

// --- broadcasting: the union of the dimensions, in the order of the operand that has them all

static_assert(same<decltype(bias + y), whole<batch, digit>> && same<decltype(y + bias), whole<batch, digit>>);
static_assert(same<decltype(column + turned), whole<digit, batch>>);
static_assert(same<decltype(y + turned), whole<batch, digit>> && same<decltype(turned + y), whole<digit, batch>>,
              "the first");
static_assert(same<decltype(x + turned), whole<batch, hidden, digit>>, "none has them all: in order of appearance");
static_assert(same<decltype(turned + x), whole<digit, batch, hidden>>);
static_assert(same<decltype(scalar * y), whole<batch, digit>> && same<decltype(y * scalar), whole<batch, digit>>);
static_assert(same<decltype(scalar + scalar), whole<>>);
static_assert(same<decltype(mtf::where(column < 0, bias, turned)), whole<digit, batch>>);

// --- layouts of results: the first operand's that splits the result as it is split, or one that says just that

using by_rows = mtf::layout<machine, mtf::split<batch, rows>>;
using by_cols = mtf::layout<machine, mtf::split<digit, rows>>;
using of_both = mtf::layout<machine, mtf::split<vocab, cols>, mtf::split<batch, rows>>;
extern made<shape<batch, kind>, partial<>, float, by_rows> const by_rows_x;
extern made<shape<batch, vocab>, partial<>, float, of_both> const of_both_x;
extern made<shape<kind, vocab>, partial<>, float, mtf::layout<machine, mtf::split<vocab, cols>>> const vocab_x;
static_assert(same<decltype(by_rows_x * of_both_x), made<shape<batch, kind, vocab>, partial<>, float, of_both>>);
static_assert(same<decltype(column * by_rows_x), made<shape<batch, kind>, partial<>, float, where>>,
              "the first that agrees");
static_assert(same<decltype(by_rows_x * column), made<shape<batch, kind>, partial<>, float, by_rows>>);
static_assert(same<decltype(mtf::einsum<batch, vocab>(by_rows_x, vocab_x)),
                   made<shape<batch, vocab>, partial<>, float,
                        mtf::layout<machine, mtf::split<batch, rows>, mtf::split<vocab, cols>>>>,
              "none agrees");

// --- relayout and rename

using on_cols = mtf::layout<machine, mtf::split<batch, cols>>;
static_assert(same<decltype(mtf::relayout<on_cols>(x)), made<shape<batch, hidden>, partial<>, float, on_cols>>);
static_assert(same<decltype(mtf::relayout<on_cols>(p)), made<shape<batch, digit>, partial<>, float, on_cols>>,
              "a reduce-scatter: cols splits batch now");
static_assert(same<decltype(mtf::relayout<by_rows>(p)), made<shape<batch, digit>, partial<cols>, float, by_rows>>);
using split_kind = mtf::layout<machine, mtf::split<kind, rows>>;
extern made<shape<vocab, digit>, partial<rows, cols>, float, split_kind> const to_rename;
static_assert(
    same<decltype(mtf::rename<digit, kind>(to_rename)), made<shape<vocab, kind>, partial<cols>, float, split_kind>>,
    "split as the layout says of the new name");

// --- lookup and loss

using by_vocab = mtf::layout<machine, mtf::split<vocab, cols>, mtf::split<batch, rows>>;
extern made<shape<vocab, kind>, partial<>, float, by_vocab> const table;
extern made<shape<kind, vocab>, partial<>, float, by_vocab> const turned_table;
extern made<shape<batch, sequence>, partial<>, std::int32_t, by_vocab> const ids;
extern made<shape<batch, sequence, vocab>, partial<>, float, by_vocab> const logits;
using rows_found = made<shape<batch, sequence, kind>, partial<cols>, float, by_vocab>;
static_assert(same<decltype(mtf::embedding<vocab>(table, ids)), rows_found> &&
              same<decltype(mtf::embedding<vocab>(turned_table, ids)), rows_found>);
static_assert(
    same<decltype(mtf::cross_entropy<vocab>(logits, ids)), made<shape<batch, sequence>, partial<>, float, by_vocab>>);
static_assert(same<decltype(mtf::cross_entropy<vocab>(mtf::transpose<vocab, batch, sequence>(logits), ids)),
                   made<shape<batch, sequence>, partial<>, float, by_vocab>>);
extern mtf::trace machine_room;
static_assert(same<decltype(mtf::attention_mask<sequence, memory, where>(machine_room, mtf::visible::causal())),
                   made<shape<sequence, memory>, partial<>, bool>>);

// --- gradients

template <template <class...> class Tensor>
struct mlp {
  Tensor<hidden, digit> w;
  Tensor<digit> b;
  MTF_FIELDS(w, b);
};
using parameters = mlp<mtf::place<float, where, mtf::trace>::tensor>;
extern parameters const theta;
struct mean_square {
  auto operator()(parameters const& q, whole<batch, hidden> const& in) const {
    return mtf::mean(mtf::square(mtf::einsum<batch, digit>(in, q.w) + q.b));
  }
};
using step = decltype(mtf::value_and_grad(mean_square{})(theta, x));
static_assert(same<decltype(step::value), whole<>>, "the value is complete");
static_assert(same<decltype(step::gradients), mtf::gradients_t<parameters>>);
static_assert(same<decltype(step::gradients.w), mtf::gradient<whole<hidden, digit>>>);
