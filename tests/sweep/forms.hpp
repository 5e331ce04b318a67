#pragma once
// What operations send, in closed form: one small function a kind of operation, as the documentation states it. They
// are written from the table of docs/design/states.md, "What relayouts send", not from the library's rules; a rule that
// changes must change here too.
#include <functional>

#include "oracle.hpp"

namespace sweep::forms {

/// Through which operands' sums an elementwise function passes.
enum class through : std::uint8_t { none, additive, multiplicative, first };

/// Elementwise: operands are broadcast to the dimensions `out`.
closed_form elementwise(through how, std::vector<int> out);
/// A contraction of two operands; dimensions that one alone has and the output lacks are summed before.
closed_form contraction(std::vector<int> out);
/// A contraction of the first two, and the third added to it.
closed_form linear(std::vector<int> out);
/// A contraction of several: sends nothing while its operands are complete, or partial where none of them is split.
closed_form contractions(std::vector<int> out);
/// A sum over some dimensions; `order`: of the result's, if not the operand's.
closed_form sum(set gone, std::vector<int> order = {});
/// A maximum or minimum over some.
closed_form extreme(set gone);
/// Rows along `dim`: operands are completed; a split dimension costs `forward` all-reduces of these many numbers a
/// row, and `backward` likewise.
closed_form rows(int dim, std::vector<int> forward, std::vector<int> backward, bool row_gone);
/// A norm along `dim`, its parameters over `dim`.
closed_form norm(int dim, int forward_all_reduces);
/// `summed`: numbers a row that are summed over the ranks of the classes, after the maximum.
closed_form cross_entropy(int classes, std::uint64_t summed = 2);
closed_form linear_cross_entropy(int classes, int features, std::uint64_t summed = 2);
/// What elements along `dim` so far come to. `sums`: a sum stays partial, and where the run is in the order of ranks
/// one exclusive sum finds what comes before; else permutes do, by doubling. Back go as many numbers, of others twice.
closed_form cumulative(int dim, bool sums, bool reverse);
/// What attention has besides: operands of these numbers, if they have the key, and a dimension of the values' own.
struct attention_operands {
  int bias = -1, key_ids = -1, values = -1;
};
/// Queries, keys and values, and others; head is what the first two have beside what they share, and the third too if
/// its own is not another. `sees`: which keys a query sees, of their positions alone.
closed_form attention(int query, int key, int head, std::function<bool(int, int)> sees,
                      attention_operands const& besides = {});
/// Elements along `dim` are turned in pairs.
closed_form rotary(int dim);
/// Rows of a table along its first or last dimension.
closed_form embedding(int vocabulary, std::vector<int> out);
/// Positions of a dimension from an index on, and their update by the second operand.
closed_form part_of(int whole, std::vector<int> out);
closed_form updated(int whole, int part);
/// The `count` largest elements along a dimension.
closed_form largest(int dim, int count, std::vector<int> out);
/// The same without a backward pass.
closed_form forward_only(closed_form const& form);
/// Rows in order: `dim` is whole meanwhile, its axes splitting others. What comes back are positions (`bytes` 4), or as
/// large as what goes (0).
closed_form sorted(int dim, int bytes = 0);
/// The same of rows of floats, from each of which one position comes back; the other operands are over the rows.
closed_form drawn(int dim);
/// Elements that numbers name along a dimension, and their sums where numbers say: `summed` are the numbers' own.
closed_form gathered_along(int dim, std::vector<int> out);
closed_form scattered(int dim, set summed, std::vector<int> out);
/// Numbers as rows along a dimension.
closed_form one_hot(int dim);
/// The operand split as the target says.
closed_form relayout();
closed_form rename(int from, int to);
/// Dimension `one` becomes outer and inner, `out` the result's dimensions; or the reverse.
closed_form split(int one, int outer, int inner, std::vector<int> out);
closed_form merged(int one, int outer, int inner, std::vector<int> out);
/// Where a position of the result comes from: an operand, below 0 for none, and its position there.
struct origin {
  int operand = -1, position = 0;
};
/// Along `whole` of the result positions of the operands, along `parts`; the other dimensions are the same. `linear`:
/// what comes from none is 0.
closed_form moved(int whole, std::vector<int> parts, std::vector<int> out, std::function<origin(int)> from,
                  bool linear = true);
/// Two operands, one after the other: what is `first` and `second` of them is `whole` of the result.
closed_form joined(int whole, std::vector<int> parts, std::vector<int> out);
/// Operands along a new dimension; one position of one, which is gone.
closed_form stacked(int dim, std::vector<int> out);
closed_form position_of(int dim, std::vector<int> out);
/// The operand in another order of dimensions; nothing is sent, sums stay open.
closed_form same(std::vector<int> out);
/// The operand completed.
closed_form complete();
/// Completed where the result is used in another, narrower type and back.
closed_form narrowed();
/// The operand repeated along new dimensions, which are split as its layout says.
closed_form broadcast(std::vector<int> out);
/// The whole tensor on every rank.
closed_form gathered();
/// A constant: nothing flows back.
closed_form constant();
/// A tensor from nothing, split as the layout says.
closed_form created(std::vector<int> out);

}  // namespace sweep::forms
