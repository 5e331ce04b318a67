#!/usr/bin/env python3
"""Do the tests see errors? Puts deliberate ones, one at a time, into a copy of the headers, compiles against it the
programs that should notice (one file of the layout sweep's operations, local.gradients, threads.protocol, the program
fuzzer, the tests of checkpoints, of the training loop and of prepare's pieces), and expects each to fail.

  scripts/mutate.py --flags "-I... -L..." [--only TEXT] [--skip N] [--count N] [--work DIR] [--cxx g++-12]
  scripts/mutate.py --check   only whether each can be put in: a second, and a test of its own

--only: those whose words contain TEXT, or that the program TEXT should notice.
--flags: where Kokkos, oneDNN, Boost, doctest, ISA-L and PCRE2 are, as given to the compiler and linker. Prints a table; the exit code is
the number of errors that a program did not catch, or that could not be put in because a header's text has changed. Takes
about half a minute a program; the fuzzer, all of whose entries see the headers, some minutes, and two to run.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORE, THREADS, PREPARE = "include/mtf", "backends/threads/include/mtf/threads", "tools/prepare"

# (what is wrong, the programs that should notice, header, text, replacement). Programs are those in `tests` below, or
# one of the files tests/sweep/*_cases.cpp by its name. `fuzz` is asked for errors that the sweep cannot see.
MUTATIONS = [
    ("a sum passes x + y if one operand is partial", "elementwise_of_several",
     f"{CORE}/detail/sharding/operand_rule.hpp",
     "case linearity::additive: pass = every; break;", "case linearity::additive: pass = any; break;"),
    ("a sum passes x * y if both operands are partial", "elementwise_of_several",
     f"{CORE}/detail/sharding/operand_rule.hpp",
     "pass = any & ~two; break;", "pass = any; break;"),
    ("a sum passes where the other operand is split", "elementwise_of_several",
     f"{CORE}/detail/sharding/operand_rule.hpp",
     "pass &= ~all.split_axes();", ""),
    ("the divisor's sum passes through a quotient", "elementwise_of_several",
     f"{CORE}/detail/sharding/operand_rule.hpp",
     "pass = N > 0 ? in[0].partial & ~two : 0; break;", "pass = any & ~two; break;"),
    ("operands split differently are accepted", "elementwise_of_several", f"{CORE}/detail/sharding/operand_rule.hpp",
     "if (before.split != dim.split) {", "if (before.split.size != dim.split.size) {"),
    ("operands of several are not asked whether they meet", "contraction", f"{CORE}/detail/sharding/operand_rule.hpp",
     "return merge_operands<sizeof...(in)>({in...}, linearity::none).wrong;", "return {};"),
    ("where layouts are values operands are not asked whether they meet", "nn", f"{CORE}/detail/ops/derived.hpp",
     "wrong_with<Rule>(of[I]->spec...); f.what != finding::kind::none)",
     "wrong_with<Rule>(of[I]->spec...); f.what == finding::kind::outer_product)"),
    ("two dimensions of two operands on one axis are accepted", "contraction",
     f"{CORE}/detail/sharding/operand_rule.hpp",
     "if (axis_mask const both = all[e].split.mask() & mine; both != 0) {",
     "if (axis_mask const both = all[e].split.mask() & mine; both > 1) {"),
    ("a broadcast operand's gradient is taken for complete", "elementwise_of_several",
     f"{CORE}/ops/elementwise/map.hpp",
     "w.gradient_sums[i] = axes_of_others(in[i], w.out);\n    for (std::size_t j = 0; j < N; ++j)", "w.gradient_sums[i] = 0;\n    for (std::size_t j = 0; j < N; ++j)"),
    ("a partial gradient meets a partial factor", "elementwise_of_several", f"{CORE}/ops/elementwise/map.hpp",
     "w.gradient_may_be_partial = ~all_passing;", "w.gradient_may_be_partial = ~0U;"),
    ("the gradient of the factor of a partial tensor is taken for complete", "elementwise_of_several",
     f"{CORE}/ops/elementwise/map.hpp",
     "if (j != i) w.gradient_sums[i] |= passing[j];", ""),
    ("a contraction over a split dimension is taken for complete", "contraction",
     f"{CORE}/detail/sharding/einsum_rule.hpp",
     "r.out.partial |= m.together[d].split.mask();", "r.out.partial |= 0U;"),
    ("einsum's backward takes a gradient partial where an operand is split", "contraction",
     f"{CORE}/ops/contraction/einsum.hpp",
     "~(a.split_axes() | b.split_axes() | passing[0] | passing[1])", "~(passing[0] | passing[1])"),
    ("einsum completes every gradient", "contraction", f"{CORE}/ops/contraction/einsum.hpp",
     "~(a.split_axes() | b.split_axes() | passing[0] | passing[1])", "0"),
    ("einsum's gradients lack sums over the other operand's axes", "contraction", f"{CORE}/ops/contraction/einsum.hpp",
     "passing[1 - i] | axes_of_others(w.in[i], w.in[1 - i]);", "passing[1 - i];"),
    ("linear's product adds its bias while it is partial", "contraction", f"{CORE}/ops/contraction/linear.hpp",
     "if (w.out.partial != 0 || b.partial != 0 ||", "if (b.partial != 0 ||"),
    ("linear's product adds a bias that is not its rows'", "contraction", f"{CORE}/ops/contraction/linear.hpp",
     "if (w.out.partial != 0 || b.partial != 0 || b.ndim > w.out.ndim || product.n != b.local_size(mesh)) return false;",
     "if (w.out.partial != 0 || b.partial != 0 || b.ndim > w.out.ndim) return false;"),
    ("the gradient of linear's bias is taken for complete", "contraction", f"{CORE}/ops/contraction/linear.hpp",
     "axes_of_others(bias, product.out)}", "0}"),
    ("a remainder has the sign of what is divided", "elementwise_of_several elementwise_of_one", f"{CORE}/math/rounding.hpp",
     "return left != 0 && (left < 0) != (y < 0) ? static_cast<R>(left + y) : left;", "return left;"),
    ("a gate's partial sum passes", "nn", f"{CORE}/ops/elementwise/functions.hpp",
     "linear = linearity::first; \\ static constexpr bool only_floating = FLOATING;",
     "linear = linearity::additive; \\\n static constexpr bool only_floating = FLOATING;"),
    ("the gradient of a variance goes through its mean", "reduction", f"{CORE}/ops/reduction/variance.hpp",
     "square(whole - stop_gradient(mean_of{}(whole)))", "square(whole - mean_of{}(whole))"),
    ("whether all hold is whether one does", "reduction", f"{CORE}/ops/reduction/any_all.hpp",
     "detail::reduce_bools_call<detail::reduce_by::min, Dims...>", "detail::reduce_bools_call<detail::reduce_by::max, Dims...>"),
    ("a tensor like a partial one is partial", "create", f"{CORE}/ops/create/like.hpp",
     "typename X::shape_type, 0>::template on", "typename X::shape_type>::template on"),
    ("a sum over a split dimension is taken for complete", "reduction", f"{CORE}/ops/reduction/reduce.hpp",
     "out.partial = in.partial | gone;", "out.partial = in.partial;"),
    ("the gradient of a sum is spread while it is partial", "reduction", f"{CORE}/ops/reduction/reduce.hpp",
     "w.gradient_may_be_partial = ~in.split_axes();", "w.gradient_may_be_partial = ~0U;"),
    ("a minimum is combined by maximum", "reduction", f"{CORE}/ops/reduction/reduce.hpp",
     "collective::all_reduce(work->exchange, op,", "collective::all_reduce(work->exchange, combine::max,"),
    ("softmax's denominator is the rank's own", "reduction", f"{CORE}/ops/reduction/softmax.hpp",
     "f.backend.communicate(collective::all_reduce(w.exchange, combine::sum, element_of<A>, n), sum, sum);\n", ""),
    ("softmax's backward sums only the rank's own", "reduction", f"{CORE}/ops/reduction/softmax.hpp",
     "g.backend.communicate(collective::all_reduce(w.exchange, combine::sum, element_of<A>, static_cast<std::size_t>(w.r.count())), s, s);", ""),
    ("what is visible forgets where the shard's keys are", "reduction", f"{CORE}/ops/reduction/softmax.hpp",
     "first_key = shard_offset(in, w.dim, mesh, rank);", "first_key = index{0};"),
    ("a mean over lengths that are values is that of one", "extents", f"{CORE}/ops/reduction/reduce.hpp",
     "place_of(x).spec().global_size() / place_of(total)", "X::description::spec.global_size() / X::description::spec"),
    ("new dimensions are as long as they were first", "extents", f"{CORE}/detail/ops/derived.hpp",
     "if (!are_as_given(static_cast<typename Rule::adds const*>(nullptr), table, first.spec, out.spec)) return false;", ";"),
    ("two lengths of one name meet", "extents", f"{CORE}/detail/sharding/operand_rule.hpp",
     "if (before.extent != dim.extent || before.pad != dim.pad) {", "if (false) {"),
    ("gradients of other lengths update", "extents", f"{CORE}/detail/tensor/arranged.hpp",
     "if (x[d].extent != y[d].extent || x[d].pad != y[d].pad)", "if (false)"),
    ("structures of other numbers of layers are walked together", "stack", f"{CORE}/tensor/params.hpp",
     "if (known && x.size() != n) numbers", "if (false) numbers"),
    ("a stack of a plan has one layer", "stack", f"{CORE}/tensor/params.hpp",
     "n = static_cast<std::size_t>(*given);", "n = 1;"),
    ("adafactor takes another parameter's moments", "extents", f"{CORE}/train/adafactor.hpp",
     "if (!as_made) state_is_of_another(name, spec);", ";"),
    ("gradients are not multiplied by what they are clipped by", "kernels_batch",
     "backends/kokkos/include/mtf/kokkos/kernels/optimizer.hpp",
     "return grad_scale == nullptr ? A(1) : static_cast<A>(*grad_scale);",
     "return grad_scale == nullptr || *grad_scale == *grad_scale ? A(1) : static_cast<A>(*grad_scale);"),
    ("gradients whose norm is not finite update", "watch", f"{CORE}/math/updates.hpp",
     "if (!(norm - norm == 0)) return std::numeric_limits<double>::quiet_NaN();", ";"),
    ("updates that were none are counted", "watch", f"{CORE}/train/optimizer.hpp",
     "updates.value -= updates.raised ? 1 : 0;", "static_cast<void>(updates);"),
    ("adafactor keeps the moments of both kinds", "extents", f"{CORE}/train/optimizer.hpp",
     "if (is_kept_on<X>(b)) x = zeros<X>(b);", "x = zeros<X>(b);"),
    ("a file's tensors disagree", "extents", f"{CORE}/checkpoint/extents_in.hpp",
     "before && *before != extent)", "before && false)"),
    ("a part of an array begins at the array's", "stored_names", f"{CORE}/detail/checkpoint/stored_form.hpp",
     "f.offset += x.part * stride;", ";"),
    ("a form's dimensions are taken as the tensor has them", "stored_names", f"{CORE}/detail/checkpoint/stored_form.hpp",
     "f.stride[d] = stride;", "f.stride[d] = tensor_.where.global_stride(x.dim);"),
    ("stored elements of another order are put one behind the other", "stored_names",
     f"{CORE}/detail/checkpoint/stored_form.hpp", "std::memcpy(spread + i * step * sizeof(Bytes)",
     "std::memcpy(spread + i * sizeof(Bytes)"),
    ("arrays that lack a part are written", "stored_names", f"{CORE}/detail/checkpoint/write.hpp",
     "if (!same || begins.size() != a.tensors.size() ||", "if (!same ||"),
    ("copies are not compared", "stored_names", f"{CORE}/detail/checkpoint/read.hpp",
     "if (std::memcmp(a.data(), b.data(), some) != 0) return false;", ";"),
    ("texts that somebody changed are replaced", "stored_names", f"{CORE}/detail/checkpoint/manifest.hpp",
     "if (checksum_of(text.data(), text.size()) == checksum) names.insert(name);", "names.insert(name);"),
    ("pads keep what an operation wrote there", "padding", f"{CORE}/detail/ops/passes.hpp",
     "zero_pads(backend, work.out, out, sizeof(result_element<0, R>));", ";"),
    ("pads keep gradients", "padding", f"{CORE}/detail/ops/passes.hpp",
     "zero_pads(backend, work.in[I], memory, sizeof(nth<I, T...>));", ";"),
    ("softmax sees pads", "padding", f"{CORE}/ops/reduction/softmax.hpp",
     "auto const r = rows_without_pads(work->r, work->in[0], work->dim, f.mesh(), f.rank());", "auto const r = work->r;"),
    ("a loss's gradient sees pads", "padding", f"{CORE}/ops/nn/cross_entropy.hpp",
     "auto const r = rows_without_pads(work->r, logits, work->dim, g.mesh(), g.rank());", "auto const r = work->r;"),
    ("a norm divides by pads too", "padding", f"{CORE}/ops/nn/norm.hpp",
     "w.n = x[d].logical();", "w.n = x[d].extent;"),
    ("attention sees pads", "padding", f"{CORE}/ops/nn/whole_attention.hpp",
     "s.keys = k[k.find(key)].logical();", "s.keys = k.local_extent(k.find(key), mesh);"),
    ("masked_softmax sees pads", "padding", f"{CORE}/ops/reduction/masked_softmax.hpp",
     "auto const r = rows_without_pads(of.r, of.in[0], of.dim, f.mesh(), f.rank());", "auto const r = of.r;"),
    ("random numbers count pads", "padding", f"{CORE}/core/sharding.hpp",
     "for (int e = d + 1; e < ndim; ++e) n *= dim[e].logical();", "for (int e = d + 1; e < ndim; ++e) n *= dim[e].extent;"),
    ("a maximum sees pads", "padding", f"{CORE}/ops/reduction/reduce.hpp",
     "return w.in[0].padded ? reduction_to", "return false ? reduction_to"),
    ("operations that are not right take pads", "padding", f"{CORE}/detail/ops/derived.hpp",
     "for (auto const* operand : of) refuse_pads(operand->spec, by);", ";"),
    ("two that are padded otherwise meet", "padding", f"{CORE}/detail/sharding/operand_rule.hpp",
     "if (before.extent != dim.extent || before.pad != dim.pad) {", "if (before.extent != dim.extent) {"),
    ("concat moves pads", "padding", f"{CORE}/ops/movement/concat.hpp",
     "index const n = work->in[i][work->dim].logical();", "index const n = work->in[i][work->dim].extent;"),
    ("what is joined has no pads", "padding", f"{CORE}/detail/ops/new_dims.hpp",
     "stored = layout.given.padded(D::id, D::kin, n);", ";"),
    ("pads that others had are kept", "padding", f"{CORE}/detail/ops/derived.hpp",
     "if (!are_padded_as_given(static_cast<typename Rule::pads const*>(nullptr), table, out.spec)) return false;", ";"),
    ("pads within rows are split", "padding", f"{CORE}/ops/movement/split_dim.hpp",
     "if (two.pads != 0 || two.stored * two.inner != one.extent)", "if (false)"),
    ("a part's pads are put in", "padding", f"{CORE}/ops/indexing/slice.hpp",
     "if (stored == part) return put_packed(pass, to, from, start);", "return put_packed(pass, to, from, start);"),
    ("the largest are stored without pads", "padding", f"{CORE}/ops/sorting/top_k.hpp",
     "if (work->out[work->dim].pad == 0) {", "if (true) {"),
    ("masked_softmax forgets where the shard's keys are counted", "reduction", f"{CORE}/ops/reduction/masked_softmax.hpp",
     "rows.first_key = shard_offset(work->of.in[0], work->of.dim, mesh, rank);", ""),
    ("heads that share keys forget that others have parts of their gradient", "nn", f"{CORE}/ops/nn/whole_attention.hpp",
     "w.gradient_sums[1] = axes_of_others(k, q);", ""),
    ("rotary takes the first cosine of a pair for both", "nn", f"{CORE}/ops/nn/rotary.hpp",
     "moved(x, x_other), x, moved(c, c_other),", "moved(x, x_other), x, c,"),
    ("rotary turns gradients the same way", "nn", f"{CORE}/ops/nn/rotary.hpp",
     "turned_back{1}, work->pairs, dx, dy", "turned_back{-1}, work->pairs, dx, dy"),
    ("rotary is not whole along the dimension", "nn", f"{CORE}/ops/nn/rotary.hpp",
     "auto const a = whole(x);", "auto const a = x;"),
    ("rotary counts pads in its halves", "padding", f"{CORE}/ops/nn/rotary.hpp",
     "auto const half = x[d].logical() / 2;", "auto const half = x[d].extent / 2;"),
    ("attention forgets that its queries are split", "nn", f"{CORE}/ops/nn/whole_attention.hpp",
     "return splits_rows(k, v) || q[q.find(Query::id)].split.size + k[k.find(Key::id)].split.size > 0;",
     "return splits_rows(k, v) || k[k.find(Key::id)].split.size > 0;"),
    ("keys that come round are taken for the rank's own", "nn", f"{CORE}/detail/ops/ring.hpp",
     "return shard_offset(*k_, key_, *mesh_, neighbour(-step));", "return shard_offset(*k_, key_, *mesh_, rank_);"),
    ("keys go round too short a way", "nn", f"{CORE}/detail/ops/ring.hpp",
     "steps_(mesh.size(axes.mask()) - 1)", "steps_(mesh.size(axes.mask()) - 2)"),
    ("a ring ends where the rank itself sees nothing more", "nn", f"{CORE}/detail/ops/ring.hpp",
     "if (is_beside(r) && of(r).meets(step)) return true;", "if (r == rank_ && of(r).meets(step)) return true;"),
    ("parts of a softmax are merged without their maxima", "nn", f"{CORE}/detail/ops/softmax_parts.hpp",
     "return other_max > max ? sum * math::exp(max - other_max) : sum;", "return sum;"),
    ("gradients of keys that went round do not come home", "nn", f"{CORE}/ops/nn/ring_attention.hpp",
     "way.add(dk, dv, way.arrived());", "way.arrived();"),
    ("halves of queries lie as the rank's own", "nn", f"{CORE}/detail/ops/ring.hpp",
     "return piece == 0 ? rank_ : parts.rank_with(parts.count() - 1 - parts.mine());", "return rank_;"),
    ("halves of queries are never exchanged", "nn", f"{CORE}/detail/ops/ring.hpp",
     "if (whole == 0 || 4 * most_pairs() > 3 * whole) pieces_ = 1;", "pieces_ = 1;"),
    ("results of halves are not given back", "nn", f"{CORE}/ops/nn/ring_attention.hpp",
     "if (here.pieces() > 1) exchange(f, here, w.packed_out, moved(y, second_of_out(here)));", ""),
    ("gradients of results stay where the result is", "nn", f"{CORE}/ops/nn/ring_attention.hpp",
     "exchange(g, here, w.packed_out, data_of<T>(gradients, second_of_out(here)));", ""),
    ("queries' gradients forget the keys of others", "nn", f"{CORE}/ops/nn/ring_work.hpp",
     "w.gradient_sums[0] = w.merged;", ""),
    ("attention forgets that the values' own dimension is split", "nn", f"{CORE}/ops/nn/whole_attention.hpp",
     "any = any || (!k.has(v[d].id) && v[d].split.size > 0);", ""),
    ("the gradient of attention's bias is taken for complete", "nn", f"{CORE}/ops/nn/attention_with.hpp",
     "w.gradient_sums[bias] = of_scores & ~b.split_axes();", ""),
    ("attention's dropout forgets where the shard is", "nn", f"{CORE}/ops/nn/attention_with.hpp",
     "s.first_weight = placement_of(w.scores, mesh, rank).offset + first_query * s.weights_row + first_key;", ";"),
    ("a bias of keys that came round is taken from the first key", "nn", f"{CORE}/ops/nn/attention_with.hpp",
     "return d >= 0 && s[d].split.size == 0 ? first_key : 0;", "return 0;"),
    ("attention's segments are not hidden after the softmax", "nn", f"{CORE}/ops/nn/attention_with.hpp",
     "return own(softmax_of(own(biased, A(-3e38))), A(0));",
     "return softmax_of(own(biased, A(-3e38)));"),
    ("logsumexp's gradient is not completed", "reduction", f"{CORE}/ops/reduction/softmax.hpp",
     "w.gradient_may_be_partial = ~in.split_axes();", ""),
    ("the gradients of gamma and beta are taken for complete", "nn", f"{CORE}/ops/nn/norm.hpp",
     "w.gradient_sums[i] = x.split_axes() & ~w.exchange;", "w.gradient_sums[i] = 0;"),
    ("batch norm's statistics are the shard's", "nn", f"{CORE}/ops/nn/batch_norm.hpp",
     "w.exchange = axes_of_others(statistics, x);", ""),
    ("batch norm's gradient takes what was centered for normalized", "nn", f"{CORE}/ops/nn/batch_norm.hpp",
     "(x - mean) * rstd * of_product", "(x - mean) * of_product"),
    ("dropout draws for positions that share a draw", "nn", f"{CORE}/ops/nn/dropout_shared.hpp",
     "if (shared[at]) continue;", ""),
    ("layer_norm's mean is over the shard", "nn", f"{CORE}/ops/nn/norm.hpp",
     "A(1) / static_cast<A>(work->n)", "A(1) / static_cast<A>(r.n)"),
    ("cross_entropy forgets where the shard's classes are", "nn", f"{CORE}/ops/nn/cross_entropy.hpp",
     "auto const first = shard_offset(work->in[0], work->dim, f.mesh(), f.rank());", "backend::index const first = 0;"),
    ("the gradient of an embedding's table is taken for complete", "indexing", f"{CORE}/ops/indexing/embedding.hpp",
     "w.gradient_sums[0] = ids.split_axes();", ""),
    ("embedding forgets where the shard's rows are, backward", "indexing", f"{CORE}/ops/indexing/embedding.hpp",
     "add_rows<T>{w.count, w.width, w.vocabulary, shard_offset(w.in[0], 0, g.mesh(), g.rank()),", "add_rows<T>{w.count, w.width, w.vocabulary, 0,"),
    ("a relayout's gradient is split where it is partial", "movement", f"{CORE}/ops/movement/relayout.hpp",
     "g.g.partial = to.partial = from.partial & ~to.split_axes();", "g.g.partial = to.partial = from.partial;"),
    ("blocks of a message lie as if no axis were outside another", "movement", f"{CORE}/detail/sharding/message.hpp",
     "      stride *= share.parts;", ""),
    ("no all-to-all: gathers and slices", "movement", f"{CORE}/detail/sharding/relayout_derivation.hpp",
     "    if ((what & moves) != 0 && (loses & gains) == 0) return {true, step_kind::all_to_all, changed & ~sliced, parts};\n", ""),
    ("no reduce-scatter: all-reduces and slices", "movement", f"{CORE}/detail/sharding/relayout_derivation.hpp",
     "    if ((what | slices) == (scatters | slices)) return {true, step_kind::reduce_scatter, changed & ~sliced, parts};\n",
     ""),
    ("every rank slices the first part", "movement", f"{CORE}/detail/sharding/execute.hpp",
     "pack_offset(mesh, axes, before, block, rank));", "0 * pack_offset(mesh, axes, before, block, rank));"),
    ("gathered parts stay in the order of ranks", "movement", f"{CORE}/detail/sharding/execute.hpp",
     "b.communicate(collective::all_gather(s.axes, element_of<T>, count), in, to); return unpacked(out);",
     "b.communicate(collective::all_gather(s.axes, element_of<T>, count), in, to); break;"),
    ("a dimension split over two axes is split innermost first", "create", f"{CORE}/detail/sharding/shard.hpp",
     "  for (int i = 0; i < split.size; ++i) {\n    axis_share const share = s.share(d, i, mesh);", "  for (int i = split.size - 1; i >= 0; --i) {\n    axis_share const share = s.share(d, i, mesh);"),
    ("gradients are never completed", "reduction", f"{CORE}/detail/tape/contributions.hpp",
     "completed<T>(*where_, s.g.partial & ~sum.partial,", "completed<T>(*where_, 0U & s.g.partial,"),
    ("a sum over axes inside and outside of a node stays inside", "reduction", f"{CORE}/detail/sharding/execute.hpp",
     "      b.communicate(collective::all_reduce(s.axes, combine::sum, element_of<T>, share), p, p);\n", ""),
    ("a tensor used twice is completed twice", "elementwise_of_several", f"{CORE}/detail/sharding/execute.hpp",
     "if (axes != 0 && !x->sum.is_over(axes)) {", "if (axes != 0) {"),
    ("broadcast keeps a sum open along a new dimension's axis", "movement", f"{CORE}/ops/movement/broadcast.hpp",
     "w.complete[0] = x.partial & to.split_axes();", ""),
    ("the gradient of a broadcast is taken for complete", "movement", f"{CORE}/ops/movement/broadcast.hpp",
     "w.gradient_sums[0] = axes_of_others(x, to);", ""),
    ("a tensor that is split where it is partial is accepted", "elementwise_of_one",
     f"{CORE}/detail/sharding/finding.hpp",
     "if (axis_mask const both = s[d].split.mask() & s.partial; both != 0)",
     "if (axis_mask const both = s[d].split.mask() & s.partial; both > 2)"),
    ("a layout that is not injective is accepted", "movement", f"{CORE}/detail/sharding/finding.hpp",
     "if (axis_mask const both = s[d].split.mask() & s[e].split.mask(); both != 0)",
     "if (axis_mask const both = s[d].split.mask() & s[e].split.mask(); both > 2)"),
    ("all-reduce leaves out a rank", "elementwise_of_several", f"{CORE}/backend/reduce_in_order.hpp",
     "for (std::size_t r = 1; r < in.size(); ++r) {", "for (std::size_t r = 1; r + (in.size() > 2 ? 1 : 0) < in.size(); ++r) {"),
    ("reduce-scatter gives every rank the first block", "movement", f"{THREADS}/collectives.hpp",
     "inputs(all, all.size()), all.me * c.count, c.count,", "inputs(all, all.size()), 0 * all.me, c.count,"),
    ("all-to-all sends the blocks to the wrong ranks", "movement", f"{THREADS}/collectives.hpp",
     "at(all.of(r).in, all.me * bytes), sent_by(all, r, c)", "at(all.of(r).in, r * bytes), sent_by(all, r, c)"),
    ("an all-to-all with counts sends whole blocks", "collectives", f"{THREADS}/collectives.hpp",
     "sent_by(all, r, c) * backend::size_of(c.type)", "(sent_by(all, r, c), bytes)"),
    ("an exclusive sum has the rank's own terms", "collectives", f"{THREADS}/collectives.hpp",
     "inputs(all, all.me), 0, c.count, out", "inputs(all, all.me + 1), 0, c.count, out"),
    ("what comes from nobody is left as it was", "collectives", f"{THREADS}/collectives.hpp",
     "std::memset(out, 0, c.count * backend::size_of(c.type));", ";"),
    ("the end of an axis is its begin's neighbour", "collectives", f"{CORE}/backend/collective.hpp",
     "return c < 0 || c >= ranks ? nobody : rank + (c - here) * stride;",
     "return rank + ((c % ranks + ranks) % ranks - here) * stride;"),
    # The protocol of gradients.
    ("what flows to a tensor is added into another's gradient", "elementwise_of_several protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "    if (!x.unique()) x = copy_of<R>(x, elements());\n", ""),
    ("norms and contractions add into another's gradient", "nn contraction protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "|| !first_.g.memory.unique()) return {};", ") return {};"),
    ("norms and contractions add to what is partial over other axes", "nn contraction protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "if (!first_.g.memory || first_.g.partial != partial ||", "if (!first_.g.memory ||"),
    ("a sum is remembered though something was added", "elementwise_of_several protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "    x->sum.forget();\n", ""),
    ("a sum is remembered though a contraction was added", "contraction protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "    first_.g.memory->sum.forget();\n", ""),
    ("gradients partial over different axes are added", "elementwise_of_several protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "if (first_.g.partial == s.g.partial) return merge(first_", "if (true) return merge(first_"),
    ("gradients partial over the same axes are kept apart", "elementwise_of_several",
     f"{CORE}/detail/tape/contributions.hpp",
     "      if (other.g.partial == s.g.partial) return merge(other, std::move(s));", "      static_cast<void>(other);"),
    ("gradients partial over other axes are lost", "elementwise_of_several protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "    for (auto& s : more_) accumulate<T>(sum.memory, part(s));\n", ""),
    ("a gradient is completed over too few axes", "elementwise_of_several protocol",
     f"{CORE}/detail/tape/contributions.hpp",
     "each([&](auto const& g) { sum.partial &= g.partial; });", "sum.partial &= first_.g.partial;"),
    ("a gradient is final when something has flowed", "gradients protocol fuzz", f"{CORE}/detail/tape/gradient_slot.hpp",
     "  constexpr void unreferenced() {",
     "  constexpr void add(cotangent<Backend>&& g) {\n    contributions<Backend, T>::add(std::move(g));\n"
     "    if (parameter >= 0) finalize();\n  }\n  constexpr void unreferenced() {"),
    ("the gradient of a tensor that the function keeps is lost", "gradients protocol fuzz", f"{CORE}/detail/tape/tape.hpp",
     "if (p.index != nullptr) slot->finalize();", "static_cast<void>(slot);"),
    ("nothing flows through an operand that is completed", "elementwise_of_several protocol",
     f"{CORE}/detail/tape/record.hpp",
     "return value<Backend, T>(completed<T>(s, axes, x.memory, 0, x.memory->label()), x.slot);", "return value<Backend, T>(completed<T>(s, axes, x.memory, 0, x.memory->label()));"),
    ("a norm overwrites what its slot holds", "nn gradients protocol", f"{CORE}/ops/nn/norm.hpp",
     "mean, rstd, adds, work->n, s1, s2}", "mean, rstd, false, work->n, s1, s2}"),
    ("a norm along a split dimension takes its part's extent for the whole", "nn", f"{CORE}/ops/nn/norm.hpp",
     "mean, rstd, adds, work->n, s1, s2}", "mean, rstd, adds, r.n, s1, s2}"),
    ("a contraction overwrites what its slot holds", "contraction protocol", f"{CORE}/ops/contraction/einsum.hpp",
     "static_cast<bool>(sum), bias ?", "false, bias ?"),
    ("an operation hands over what it has added", "contraction protocol", f"{CORE}/detail/ops/passes.hpp",
     "if (adds_[I])", "if (false)"),
    ("memory that others hold is written", "parts", f"{CORE}/detail/ops/passes.hpp",
     "if (!memory.unique()) memory = copy_of", "if (!memory) memory = copy_of"),
    ("gradients of two results meet as they arrive", "several_results", f"{CORE}/detail/ops/operation.hpp",
     "one.partial & ~partial, one.memory);", "0, one.memory);"),
    ("axes that split outer rows split inner positions", "movement", f"{CORE}/detail/sharding/regrouping.hpp",
     "bool const has_rows = outer > 1;", "bool const has_rows = outer > 2;"),
    ("two dimensions are one though an axis begins within a row", "movement", f"{CORE}/detail/sharding/regrouping.hpp",
     "if (left % ranks != 0) return std::nullopt;", "if (left % ranks != 0) continue;"),
    ("the second of two tensors begins where the first does", "movement", f"{CORE}/ops/movement/concat.hpp",
     "all[i] = {{.count = n, .to = at}, i};", "all[i] = {{.count = n}, i};"),
    ("the gradient of a part is taken for complete", "movement", f"{CORE}/detail/ops/moved_along.hpp",
     "this->gradient_sums[i] = whole & ~axes_of(i);", ""),
    ("a gradient that one part alone can reduce arrives partial", "movement", f"{CORE}/detail/ops/moved_along.hpp",
     "this->gradient_may_be_partial = ~(axes() & ~of_all);", "this->gradient_may_be_partial = ~0U;"),
    ("what crosses is gathered", "movement", f"{CORE}/detail/ops/moved_along.hpp",
     "if (gathers > 0 && !wanted_whole) {", "if (false) {"),
    ("a message is unpacked where its sender's shard begins", "movement", f"{CORE}/detail/ops/moved_along.hpp",
     "- m.to.begin(mesh(), receiver)) * inner", "- m.to.begin(mesh(), sender)) * inner"),
    ("where nothing arrives a gradient is what was there", "movement", f"{CORE}/detail/ops/moved_along.hpp",
     "if (e.arrives(I) * w.outer * w.inner < size)", "if (false)"),
    ("a rank takes a gradient that another one along other axes has too", "movement",
     f"{CORE}/detail/ops/moved_along.hpp", "result().split.mask() & axes_of(s.operand),", "result().split.mask(),"),
    ("the shortest messages go first", "movement", f"{CORE}/detail/sharding/exchange.hpp",
     "return a.count != b.count ? a.count > b.count", "return a.count != b.count ? a.count < b.count"),
    ("an all-to-all is taken that sends more than permutes", "movement", f"{CORE}/detail/sharding/exchange.hpp",
     "if (count * (mesh_.size(axes) - 1) > sent()) return;", ""),
    ("what is rolled off one end stays away", "movement", f"{CORE}/ops/movement/roll.hpp",
     "{{.count = to, .from = n - to}, 0}", "{}"),
    ("a stacked tensor's gradient is taken for complete", "movement", f"{CORE}/ops/movement/stacked.hpp",
     "w.gradient_sums[i] = w.out[0].split.mask();", ""),
    ("a position is taken from the shard's own start", "movement", f"{CORE}/ops/movement/stacked.hpp",
     "- shard_offset(this->in[0], dim, pass.mesh(), pass.rank());", ";"),
    ("a slice is taken from the shard's own start", "indexing", f"{CORE}/ops/indexing/slice.hpp",
     "shard_offset(this->in[0], dim, pass.mesh(), pass.rank())", "0"),
    ("where the largest element is found among terms of it", "sorting", f"{CORE}/ops/sorting/top_k.hpp",
     "w.complete[0] = x.partial;", "w.complete[0] = 0;"),
    ("where rows are whole the axes that split them split nothing", "sorting", f"{CORE}/ops/sorting/sort.hpp",
     "s[e].split.push(axes[i]);", "static_cast<void>(e);"),
    ("the gradient of sorted rows stays in their order", "sorting", f"{CORE}/ops/sorting/sort.hpp",
     "g.set_dx(execute<T>(g.backend, derive_relayout(g.mesh(), whole, own), dx));", "g.set_dx(g.g.memory);"),
    ("rows are drawn by the numbers of others", "sample", f"{CORE}/ops/sorting/sample.hpp",
     "w.rows_there = derive_relayout(mesh, w.out, rows_of(w.whole));", ""),
    ("of equal logits at the threshold of top_p one more is drawn", "kernels_sample", f"{CORE}/math/sample.hpp",
     "first_beyond(taken - 1,", "first_beyond(taken,"),
    ("what is just as likely as min_p says is not drawn", "kernels_sample", f"{CORE}/math/sample.hpp",
     "return w >= least_weight ? w : 0;", "return w > least_weight ? w : 0;"),
    ("what is chosen by chance depends on the rank", "sorting", f"{CORE}/ops/sorting/categorical.hpp",
     "placement_of(work->out, f.mesh(), f.rank())", "placement_of(work->out, f.mesh(), 0)"),
    ("a run over a rank's part forgets what comes before", "cumulative", f"{CORE}/ops/cumulative/cumulative.hpp",
     "before ? data_of<B>(before) : nullptr", "nullptr"),
    ("parts are in the order of ranks, however axes split", "cumulative", f"{CORE}/ops/cumulative/cumulative.hpp",
     "linear && !reverse && in_order_of_ranks(work->split())", "linear && !reverse"),
    ("what comes before is joined once too few", "cumulative", f"{CORE}/detail/ops/carry.hpp",
     "if (2 * by < parts.count()) join(totals, earlier);", ""),
    ("a running maximum's gradient goes to each rank's first", "cumulative", f"{CORE}/ops/cumulative/cumulative.hpp",
     ": here == 0;", ": true;"),
    ("a running product's sums stay open", "cumulative", f"{CORE}/ops/cumulative/cumulative.hpp",
     "w.complete[0] = x.partial;", "w.complete[0] = 0;"),
    ("the gradient of what is gathered is complete", "indexing", f"{CORE}/ops/indexing/gather.hpp",
     "w.gradient_sums[0] = axes_of_others(x, ids);", ""),
    ("elements are gathered from the shard's own start", "indexing", f"{CORE}/ops/indexing/gather.hpp",
     "shard_offset(table, dim, pass.mesh(), pass.rank())", "0"),
    ("an axis splits where is added before its sum is taken", "indexing", f"{CORE}/ops/indexing/gather.hpp",
     "if (((summed(ids) >> static_cast<unsigned>(all[i])) & 1U) == 0) split.push(all[i]);", "split.push(all[i]);"),
    ("what is scattered is complete", "indexing", f"{CORE}/ops/indexing/gather.hpp",
     "(updates.partial & ~w.owners()) | sums;", "updates.partial & ~w.owners();"),
    ("a 1 stands at the position in the shard", "indexing", f"{CORE}/ops/indexing/one_hot.hpp",
     "shard_offset(out, d, f.mesh(), f.rank())", "0"),
    ("of equal elements the first that arrives is the first", "sorting", "backends/kokkos/include/mtf/kokkos/kernels/top.hpp",
     "(mine == other && id < found.ids[to * p.inner])", "false"),
    ("a sum over some axes is taken for that over others", "protocol fuzz", f"{CORE}/backend/known_sum.hpp",
     "return axes != 0 && axes_ == axes;", "return axes != 0 && axes_ != 0;"),
    ("a part of a sum is taken for the whole", "protocol fuzz", f"{CORE}/detail/sharding/execute.hpp",
     "remember(execute<T>(b, derive_completion(mesh, s, axes, split), x), split);",
     "remember(execute<T>(b, derive_completion(mesh, s, axes, split), x), 0);"),
    ("a reduce-scatter's part is taken for the whole", "protocol fuzz", f"{CORE}/detail/tape/completion.hpp",
     "g.memory->sum.is(g.partial, part, split);", "g.memory->sum.is(g.partial, part);"),
    ("a sum is known before it is taken", "protocol fuzz", f"{CORE}/detail/tape/completion.hpp",
     "element_of<T>, n, times()});", "element_of<T>, n, times()});\n      g.memory->sum.is_in_place(g.partial);"),
    ("a sum is taken in memory that another holds", "protocol fuzz", f"{CORE}/detail/tape/completion.hpp",
     "ours = g.memory.unique();", "ours = true;"),
    ("terms that another holds are given back", "protocol fuzz", f"{CORE}/detail/tape/completion.hpp",
     "if (split != 0 && ours) g.memory->forget_terms();", "if (split != 0) g.memory->forget_terms();"),
    ("terms that another holds are given back after a reduce-scatter", "protocol fuzz", f"{CORE}/detail/tape/completion.hpp",
     "if (s.ours) s.terms->forget_terms();", "s.terms->forget_terms();"),
    ("a small gradient's sum is the message's first", "protocol fuzz", f"{CORE}/detail/tape/completion.hpp",
     "s.memory->sum.is(axes, part_of<T>(message, at));", "s.memory->sum.is(axes, part_of<T>(message, 0));"),
    ("what is computed again hands on no gradient", "fuzz", f"{CORE}/autodiff/recompute.hpp",
     "if (to && to->living() == &from->owner()) from->move_to(*to);", "static_cast<void>(from), static_cast<void>(to);"),
    # Files, and what a run keeps.
    ("a failed write on another rank is not told", "checkpoint_directories", f"{CORE}/detail/checkpoint/write.hpp",
     "agree(ranks, failure_);", 'agree(ranks, ranks.rank() == 0 ? failure_ : "");'),
    ("ranks agree on what the first one alone says", "checkpoint_directories", f"{CORE}/detail/checkpoint/agree.hpp",
     "if (ranks.any(!failure.empty()))", "if (ranks.any(ranks.rank() == 0 && !failure.empty()))"),
    ("a checkpoint that is given up stays, half written", "checkpoint_directories loop", f"{CORE}/detail/checkpoint/write.hpp",
     "    begun_.path = under_way_;\n", ""),
    ("another model's tensors are accepted in one of several files", "checkpoint", f"{CORE}/detail/checkpoint/write.hpp",
     'return std::string(drop("-") ? name : whole);', "return std::string(whole);"),
    ("another model's tensors are accepted in files of other tools", "checkpoint", f"{CORE}/detail/checkpoint/read.hpp",
     'std::set<std::string> names, read{""};', "std::set<std::string> names, read;"),
    ("an old checkpoint goes while it has its manifest", "checkpoint_directories", f"{CORE}/detail/checkpoint/directory.hpp",
     'fs::remove(directory + "/manifest.json", none);', ""),
    ("a run that goes on forgets how many steps in a row were skipped", "loop",
     f"{CORE}/detail/train/code/training_run.hpp",
     'skipped_ = std::atoi(notes["skipped in a row"].c_str());', ""),
    ("the limit of a spike has no floor", "loop", f"{CORE}/train/loss_watch.hpp",
     "std::max(1.4826 * median(std::move(distances)), 1e-3 * std::abs(middle))", "1.4826 * median(std::move(distances))"),
    ("a separator between two pieces is missed", "pieces", f"{PREPARE}/sources.cpp",
     "rest.substr(0, length + separator.size()).find(separator)", "rest.substr(0, length).find(separator)"),
    ("a text is broken at any line's end", "pieces", f"{CORE}/detail/data/word_pattern.hpp",
     "if (at > 0 && ((text[at - 1] >= 'a' && text[at - 1] <= 'z') || (text[at - 1] >= 'A' && text[at - 1] <= 'Z')))", "if (at > 0)"),
    ("all-gather in the reverse order", "movement", f"{THREADS}/collectives.hpp",
     "copy(at(out, r * bytes), all.of(r).in, bytes);", "copy(at(out, (all.size() - 1 - r) * bytes), all.of(r).in, bytes);"),
    ("second choices of experts take slots from the first on", "experts", "models/common/experts.hpp",
     "mtf::cumulative_sum<Token>(taken, mtf::cumulative::exclusive) + of_choices_before",
     "mtf::cumulative_sum<Token>(taken, mtf::cumulative::exclusive) + 0 * of_choices_before"),
    ("an expert's empty slots have the first tokens", "experts", "models/common/experts.hpp",
     "mtf::where(none, -1, first)", "mtf::where(none, 0, first)"),
    ("gates of experts are not divided by the sum of those chosen", "experts", "models/common/experts.hpp",
     "if (!renormalised) return own;", "return own;"),
    ("gates that are all 0 are divided by 0", "experts", "models/common/experts.hpp",
     "own / mtf::where(all == 0, 1, all)", "own / all"),
    ("the balance loss counts tokens once too often", "experts", "models/common/experts.hpp",
     "(static_cast<double>(mtf::extent<Expert>(gates)) / (n * n))", "(1 / (n * n))"),

    # programs
    ("a scan goes on along pads", "recurrent", "include/mtf/train/scan_time.hpp",
     "n = along.logical();", "n = along.extent;"),
    ("what a custom_vjp's forward captures is not looked at", "custom_vjp", "include/mtf/autodiff/custom_vjp.hpp",
     "if (tape_of_argument<backend_type>(y) != nullptr) forward_captures_tracked();", ""),
    ("a cotangent is held to where the operand's gradient lies, not to the operand", "custom_vjp",
     "include/mtf/autodiff/vjp_node.hpp", "(*operand)[d]", "slot->where()[d]"),
    ("a row of a table's pads may be named", "kernels_order", "backends/kokkos/include/mtf/kokkos/kernels/embedding.hpp",
     "std::min(p.vocab, p.vocab_global - p.vocab_offset)", "p.vocab"),
    ("of neighbouring rows' equal elements only later ones are looked at", "kernels_order",
     "backends/kokkos/include/mtf/kokkos/kernels/top.hpp", "(ties & (mine == least[c]))", "false"),
    ("a block whose largest equals the least that is kept is passed over, whatever its ids", "kernels_order",
     "backends/kokkos/include/mtf/kokkos/kernels/top.hpp", "(x == least && !in_order)", "false"),
    ("of equal neighbouring elements the last to arrive is the largest", "kernels_order",
     "backends/kokkos/include/mtf/kokkos/kernels/top.hpp", "((mine == best[c]) & (mine_id < id[c]))", "(mine == best[c])"),
    ("a run's last tile, backward, is where the first is", "kernels_order",
     "backends/kokkos/include/mtf/kokkos/kernels/cumulative.hpp", "first = reverse ? of.n - k - m : k;",
     "first = reverse ? of.n - k - length : k;"),
]


def places(header, text):
    """Where a header has the text, however it is broken into lines."""
    tokens = re.findall(r"\w+|\S", text)
    return list(re.finditer(r"\s*".join(re.escape(token) for token in tokens), header.read_text()))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--check", action="store_true")
    options.add_argument("--flags", default="")
    options.add_argument("--only", default="")
    options.add_argument("--skip", type=int, default=0)
    options.add_argument("--count", type=int, default=len(MUTATIONS))
    options.add_argument("--work", default="/tmp/mtf-mutate")
    options.add_argument("--cxx", default="g++-12")
    options = options.parse_args()
    if options.check:
        astray = [(what, header) for what, _, header, old, _ in MUTATIONS if len(places(ROOT / header, old)) != 1]
        for what, header in astray:
            print(f"{what}: {header} does not have its text once")
        print(f"{len(MUTATIONS)} errors, {len(astray)} that cannot be put in")
        sys.exit(len(astray))
    work = pathlib.Path(options.work)
    flags = options.flags.split()
    compile_flags = [f for f in flags if not f.startswith(("-L", "-l"))]
    link_flags = [f for f in flags if f.startswith(("-L", "-l"))] + ["-fopenmp", "-ldl", "-pthread"]
    base = [options.cxx, "-std=c++20", "-fopenmp", "-w", "-fno-math-errno"]
    def run(command, **more):
        return subprocess.run(command, capture_output=True, text=True, errors="replace", **more)

    def compile_one(source, to, tree, optimize, *more):
        path = tree / (source if source.startswith(PREPARE) else f"tests/{source}")
        return run(base + [optimize, *more, *includes(tree), *compile_flags, f'-DMTF_TEST_DIR="{ROOT}/tests"', "-c",
                           f"{path}.cpp", "-o", str(to)])

    def includes(tree):
        installed = work / f"installed-{tree.name}"  # as they are installed: mtf/models
        (installed / "mtf").mkdir(parents=True, exist_ok=True)
        (installed / "mtf/models").unlink(missing_ok=True)
        (installed / "mtf/models").symlink_to(tree / "models")
        return [f"-I{installed}", *(f"-I{tree / part}" for part in
                                    ("include", "backends/kokkos/include", "backends/threads/include", "tests"))]

    work.mkdir(parents=True, exist_ok=True)
    # They see nothing of what is mutated: compiled once, when first needed.
    definitions = [f"definitions/{file.stem}" for file in sorted((ROOT / "tests/definitions").glob("*.cpp"))]
    of_sweep = [f"sweep/{stem}" for stem in ("main", "problem", "shards", "forms", "movement_forms", "exchange_forms")]
    plain = {source: work / f"{source.replace('/', '.')}.o"
             for source in (*of_sweep, "local/main", "fuzz/shards", *definitions)}
    compiled = set()

    def plain_object(source):
        if source not in compiled:
            result = compile_one(source, plain[source], ROOT, "-O1")
            if result.returncode != 0:
                sys.exit(result.stderr)
            compiled.add(source)
        return str(plain[source])

    tests = {"gradients": ("local/gradients_test", "local/main"), "protocol": ("threads/protocol_test",),
             "checkpoint": ("threads/checkpoint_test",), "parts": ("threads/parts_test",),
             "collectives": ("threads/collectives_test",), "extents": ("threads/extents_test",), "stack": ("threads/stack_test",),
             "padding": ("threads/padding_test",), "stored_names": ("threads/stored_names_test",),
             "several_results": ("threads/several_results_test",), "experts": ("threads/experts_test",),
             "recurrent": ("threads/recurrent_test",), "custom_vjp": ("threads/custom_vjp_test",),
             "kernels_order": ("local/kernels_order_test", "local/main"), "sample": ("threads/sample_test",),
             "kernels_batch": ("local/kernels_batch_test", "local/main"), "watch": ("threads/watch_test",),
             "kernels_sample": ("local/kernels_sample_test", "local/main"),
             "checkpoint_directories": ("threads/checkpoint_directories_test",), "loop": ("threads/loop_test",),
             "pieces": ("data/pieces_test", f"{PREPARE}/sources"),
             "fuzz": [f"fuzz/{file.stem}" for file in sorted((ROOT / "tests/fuzz").glob("*.cpp"))] + definitions}

    def outcome(tree, program):
        """A test, or the sweep of one family, against the headers of a tree: (verdict, text)."""
        if program in tests:
            to_compile = [(source, "-O0") for source in tests[program] if source not in plain]
            objects = [plain_object(source) for source in tests[program] if source in plain]
            arguments, sign = (["--seconds", "120"], "FAILED") if program == "fuzz" else (["--abort-after=1"], "ERROR: ")
        else:
            to_compile = [("sweep/run", "-O1"), ("sweep/pass", "-O1"), (f"sweep/{program}_cases", "-O0"),
                          ("sweep/operations", "-O0")]
            objects = [plain_object(source) for source in (*of_sweep, *definitions)]
            arguments, sign = [], "FAILED"
        for source, optimize in to_compile:
            object_file = work / f"{source.replace('/', '.')}.mutant.o"
            result = compile_one(source, object_file, tree, optimize,
                                 *([] if program in tests else [f"-DMTF_SWEEP_ONLY={program}_operations"]))
            if result.returncode != 0:
                return "does not compile", next((l for l in result.stderr.splitlines() if "error" in l), "")
            objects.append(str(object_file))
        binary = work / "mutant"
        result = run([options.cxx, *objects, "-o", str(binary), *link_flags])
        if result.returncode != 0:
            return "does not link", result.stderr
        try:
            result = run([str(binary), *arguments], timeout=600, env={"OMP_NUM_THREADS": "1", "OMP_PROC_BIND": "false"})
        except subprocess.TimeoutExpired:
            return "hangs", ""
        failed = [l.strip() for l in result.stdout.splitlines() if sign in l]
        if result.returncode == 0 and not failed:
            return "passes", result.stdout.strip().splitlines()[-1]
        if not failed:
            return f"ends with {result.returncode}", result.stderr[-200:].replace("\n", " ")
        return "caught", failed[0]

    missed, count, checked = 0, 0, set()
    for what, programs, header, old, new in MUTATIONS[options.skip:][:options.count]:
        if options.only not in what and options.only not in programs.split():
            continue
        count += 1
        tree = work / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        for part in ("include", "backends/kokkos", "backends/threads", PREPARE, "models"):
            shutil.copytree(ROOT / part, tree / part)
        (tree / "tests").symlink_to(ROOT / "tests")
        text = (tree / header).read_text()
        found = places(tree / header, old)
        if len(found) != 1:
            missed += 1
            print(f"| {what} | {programs} | NOT PUT IN: {header} has {len(found)} times: {old!r} | |", flush=True)
            continue
        (tree / header).write_text(text[:found[0].start()] + new + text[found[0].end():])
        for program in programs.split():
            begin = time.time()
            if program not in checked:  # the control: without an error nothing fails
                checked.add(program)
                verdict, text = outcome(ROOT, program)
                if verdict != "passes":
                    sys.exit(f"without an error, {program} {verdict}: {text}")
                print(f"| (none) | {program} | passes: {text} | {time.time() - begin:.0f} s |", flush=True)
                begin = time.time()
            verdict, text = outcome(tree, program)
            caught = verdict in ("caught", "hangs") or verdict.startswith("ends with")
            missed += 0 if caught else 1
            print(f"| {what} | {program} | {'' if caught else 'MISSED: '}{verdict}: {text[:230]} | {time.time() - begin:.0f} s |",
                  flush=True)
    if count == 0:
        sys.exit(f"mutate.py: neither the words nor a program of any error are like {options.only!r}")
    print(f"{count} errors, {missed} not caught")
    sys.exit(missed)


main()
