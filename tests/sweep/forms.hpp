#pragma once
// What operations send, in closed form: one small function a kind of operation, as the documentation states it. They
// are written from the table of docs/design/states.md, "What relayouts send", not from the library's rules; a rule that
// changes must change here too.
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
closed_form cross_entropy(int classes);
/// Queries, keys and values, lengths if there are; head is what the first three have beside what they share.
closed_form attention(int key, int head);
/// Elements along `dim` are turned in pairs.
closed_form rotary(int dim);
/// Rows of a table along its first or last dimension.
closed_form embedding(int vocabulary, std::vector<int> out);
/// Positions of a dimension from an index on, and their update by the second operand.
closed_form part_of(int whole, std::vector<int> out);
closed_form updated(int whole, int part);
/// The `count` largest elements along a dimension.
closed_form largest(int dim, int count, std::vector<int> out);
/// The operand split as the target says.
closed_form relayout();
closed_form rename(int from, int to);
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
