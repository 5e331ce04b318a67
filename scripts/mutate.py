#!/usr/bin/env python3
"""Does the layout sweep see errors? Puts deliberate ones, one at a time, into a copy of the headers, compiles one file of
the sweep's operations against it and expects failures.

  scripts/mutate.py --flags "-I... -L..." [--only TEXT] [--skip N] [--count N] [--work DIR] [--cxx g++-12]

--flags: where Kokkos, oneDNN and Boost are, as given to the compiler and linker. Prints a table; the exit code is the number
of errors that were not caught. Takes about half a minute an error.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORE, THREADS = "include/mtf", "backends/threads/include/mtf/threads"

# (what is wrong, the file of operations that should notice, header, text, replacement)
MUTATIONS = [
    ("a sum passes x + y if one operand is partial", "pairs", f"{CORE}/detail/operand_rule.hpp",
     "case linearity::additive: pass = every; break;", "case linearity::additive: pass = any; break;"),
    ("a sum passes x * y if both operands are partial", "pairs", f"{CORE}/detail/operand_rule.hpp",
     "pass = any & ~two; break;", "pass = any; break;"),
    ("a sum passes where the other operand is cut", "pairs", f"{CORE}/detail/operand_rule.hpp",
     "pass &= ~all.cut_axes();", ""),
    ("the divisor's sum passes through a quotient", "pairs", f"{CORE}/detail/operand_rule.hpp",
     "pass = N > 0 ? in[0].partial & ~two : 0; break;", "pass = any & ~two; break;"),
    ("operands cut differently are accepted", "pairs", f"{CORE}/detail/operand_rule.hpp",
     "if (all[e].cut != in[o][d].cut) {", "if (all[e].cut.size != in[o][d].cut.size) {"),
    ("two dimensions of two operands on one axis are accepted", "contractions", f"{CORE}/detail/operand_rule.hpp",
     "if (axis_mask const both = all[e].cut.mask() & in[o][d].cut.mask(); both != 0) {",
     "if (axis_mask const both = all[e].cut.mask() & in[o][d].cut.mask(); both > 1) {"),
    ("a broadcast operand's gradient is taken for complete", "pairs", f"{CORE}/map.hpp",
     "        w.broadcast[i] = true;\n        w.gradient_sums[i] |= w.out[d].cut.mask();", "        w.broadcast[i] = true;"),
    ("a partial gradient meets a partial factor", "pairs", f"{CORE}/map.hpp",
     "w.gradient_may_pass = ~all_passing;", "w.gradient_may_pass = ~0U;"),
    ("the gradient of the factor of a partial tensor is taken for complete", "pairs", f"{CORE}/map.hpp",
     "if (j != i) w.gradient_sums[i] |= passing[j];", ""),
    ("a contraction over a cut dimension is taken for complete", "contractions", f"{CORE}/detail/einsum_rule.hpp",
     "r.out.partial |= m.together[d].cut.mask();", "r.out.partial |= 0U;"),
    ("einsum's backward takes a gradient partial where an operand is cut", "contractions", f"{CORE}/einsum.hpp",
     "~(a.cut_axes() | b.cut_axes() | passing[0] | passing[1])", "~(passing[0] | passing[1])"),
    ("einsum completes every gradient", "contractions", f"{CORE}/einsum.hpp",
     "~(a.cut_axes() | b.cut_axes() | passing[0] | passing[1])", "0"),
    ("einsum's gradients lack sums over the other operand's axes", "contractions", f"{CORE}/einsum.hpp",
     "if (!w.in[i].has(other[d].id)) w.gradient_sums[i] |= other[d].cut.mask();", "static_cast<void>(d);"),
    ("linear's product adds its bias while it is partial", "contractions", f"{CORE}/linear.hpp",
     "if (w.out.partial != 0 || b.partial != 0 ||", "if (b.partial != 0 ||"),
    ("linear's product adds a bias that is not its rows'", "contractions", f"{CORE}/linear.hpp",
     "if (w.out.partial != 0 || b.partial != 0 || b.rank > w.out.rank || product.n != b.local_size(mesh)) return false;",
     "if (w.out.partial != 0 || b.partial != 0 || b.rank > w.out.rank) return false;"),
    ("a sum over a cut dimension is taken for complete", "rows", f"{CORE}/reduce.hpp",
     "out.partial = in.partial | gone;", "out.partial = in.partial;"),
    ("the gradient of a sum is spread while it is partial", "rows", f"{CORE}/reduce.hpp",
     "auto g = out_->take(~w_->in.cut_axes());\n    if (!g.memory) return;\n    auto dx = make_buffer<T>(b, w_->in.local_size(b.ranks().mesh()));",
     "auto g = out_->take();\n    if (!g.memory) return;\n    auto dx = make_buffer<T>(b, w_->in.local_size(b.ranks().mesh()));"),
    ("a minimum is combined by maximum", "rows", f"{CORE}/reduce.hpp",
     "b.all_reduce(w.exchange, op,", "b.all_reduce(w.exchange, combine::max,"),
    ("softmax's denominator is the rank's own", "rows", f"{CORE}/softmax.hpp",
     "    b.all_reduce(w.exchange, combine::sum, static_cast<A const*>(sum), sum, n);\n", ""),
    ("softmax's backward sums only the rank's own", "rows", f"{CORE}/softmax.hpp",
     "      b.all_reduce(w_->exchange, combine::sum, static_cast<A const*>(s), s, n);\n", ""),
    ("the causal mask forgets where the shard's keys are", "rows", f"{CORE}/softmax.hpp",
     "c.key_offset = shard_offset(w.in, w.dim, mesh, rank);", ""),
    ("attention forgets that its queries are cut", "rows", f"{CORE}/attention.hpp",
     "if constexpr (cut(Q::spec, Query::id) || ", "if constexpr ("),
    ("logsumexp's gradient is not completed", "rows", f"{CORE}/softmax.hpp",
     "out_->take(~w_->in.cut_axes())", "out_->take()"),
    ("the gradients of gamma and beta are taken for complete", "rows", f"{CORE}/norm.hpp",
     "w.parameter_sums = x.cut_axes() & ~w.exchange;", "w.parameter_sums = 0;"),
    ("layer_norm's mean is over the shard", "rows", f"{CORE}/norm.hpp",
     "A(1) / static_cast<A>(w.n)", "A(1) / static_cast<A>(r.n)"),
    ("cross_entropy forgets where the shard's classes are", "rows", f"{CORE}/cross_entropy.hpp",
     "auto const first = shard_offset(w.logits, w.dim, b.ranks().mesh(), b.ranks().rank());", "detail::index const first = 0;"),
    ("the gradient of an embedding's table is taken for complete", "movements", f"{CORE}/embedding.hpp",
     "w.gradient_sums = ids.cut_axes();", ""),
    ("embedding forgets where the shard's rows are, backward", "movements", f"{CORE}/embedding.hpp",
     "b.add_rows(w_->count, w_->width, w_->vocabulary, shard_offset(w_->table, 0, b.ranks().mesh(), b.ranks().rank()),",
     "b.add_rows(w_->count, w_->width, w_->vocabulary, 0,"),
    ("a relayout's gradient is cut where it is partial", "movements", f"{CORE}/relayout.hpp",
     "to.partial = g.partial & ~to.cut_axes();", "to.partial = g.partial;"),
    ("blocks of a message lie as if no axis were outside another", "movements", f"{CORE}/detail/message.hpp",
     "      stride *= mesh.extent[static_cast<std::size_t>(cut[i])];", ""),
    ("no all-to-all: gathers and slices", "movements", f"{CORE}/detail/relayout_rule.hpp",
     "    if ((what & moves) != 0 && (loses & gains) == 0) return {true, step_kind::all_to_all, changed & ~sliced, parts};\n", ""),
    ("no reduce-scatter: all-reduces and slices", "movements", f"{CORE}/detail/relayout_rule.hpp",
     "    if ((what | slices) == (scatters | slices)) return {true, step_kind::reduce_scatter, changed & ~sliced, parts};\n",
     ""),
    ("every rank slices the first part", "movements", f"{CORE}/detail/execute.hpp",
     "pack_offset(mesh, axes, before, block, rank));", "0 * pack_offset(mesh, axes, before, block, rank));"),
    ("gathered parts stay in the order of ranks", "movements", f"{CORE}/detail/execute.hpp",
     "b.all_gather(s.axes, in, to, count); return unpacked(out);", "b.all_gather(s.axes, in, to, count); break;"),
    ("a dimension cut over two axes is cut innermost first", "creation", f"{CORE}/detail/sharding.hpp",
     "  for (int i = 0; i < cut.size; ++i)\n    at = at * mesh.extent[static_cast<std::size_t>(cut[i])] + mesh.coordinate(of_rank, cut[i]);",
     "  for (int i = cut.size - 1; i >= 0; --i)\n    at = at * mesh.extent[static_cast<std::size_t>(cut[i])] + mesh.coordinate(of_rank, cut[i]);"),
    ("gradients are never completed", "rows", f"{CORE}/detail/tape.hpp",
     "completed<T>(*where_, g.partial & ~sum.partial,", "completed<T>(*where_, 0U & g.partial,"),
    ("a sum over axes inside and outside of a node stays inside", "rows", f"{CORE}/detail/execute.hpp",
     "      b.all_reduce(s.axes, combine::sum, p, p, share);\n", ""),
    ("a tensor used twice is completed twice", "pairs", f"{CORE}/detail/execute.hpp",
     "if (axes != 0 && x->completed_axes != axes) {", "if (axes != 0) {"),
    ("broadcast keeps a sum open along a new dimension's axis", "movements", f"{CORE}/create.hpp",
     "w.complete = X::spec.partial & w.in.cut_axes();", "w.complete = 0;"),
    ("the gradient of a broadcast is taken for complete", "movements", f"{CORE}/create.hpp",
     "in_->add({std::move(dx), g.partial | w_->exchange});", "in_->add({std::move(dx), g.partial});"),
    ("a tensor that is cut where it is partial is accepted", "functions", f"{CORE}/detail/operand_rule.hpp",
     "if (axis_mask const both = s[d].cut.mask() & s.partial; both != 0)",
     "if (axis_mask const both = s[d].cut.mask() & s.partial; both > 2)"),
    ("a layout that is not injective is accepted", "movements", f"{CORE}/detail/operand_rule.hpp",
     "if (axis_mask const both = s[d].cut.mask() & s[e].cut.mask(); both != 0)",
     "if (axis_mask const both = s[d].cut.mask() & s[e].cut.mask(); both > 2)"),
    ("all-reduce leaves out a rank", "pairs", f"{CORE}/detail/reduce_in_order.hpp",
     "for (std::size_t r = 1; r < in.size(); ++r) {", "for (std::size_t r = 1; r + (in.size() > 2 ? 1 : 0) < in.size(); ++r) {"),
    ("reduce-scatter gives every rank the first block", "movements", f"{THREADS}/collectives.hpp",
     "inputs(blocks), blocks.me * count, count,", "inputs(blocks), 0 * blocks.me, count,"),
    ("all-to-all sends the blocks to the wrong ranks", "movements", f"{THREADS}/collectives.hpp",
     "copy(at(out, r * bytes), at(blocks.of(r).in, blocks.me * bytes), bytes);",
     "copy(at(out, r * bytes), at(blocks.of(r).in, r * bytes), bytes);"),
    ("all-gather in the reverse order", "movements", f"{THREADS}/collectives.hpp",
     "copy(at(out, r * bytes), shards.of(r).in, bytes);", "copy(at(out, (shards.size() - 1 - r) * bytes), shards.of(r).in, bytes);"),
]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--flags", default="")
    options.add_argument("--only", default="")
    options.add_argument("--skip", type=int, default=0)
    options.add_argument("--count", type=int, default=len(MUTATIONS))
    options.add_argument("--work", default="/tmp/mtf-mutate")
    options.add_argument("--cxx", default="g++-12")
    options = options.parse_args()
    work = pathlib.Path(options.work)
    flags = options.flags.split()
    compile_flags = [f for f in flags if not f.startswith(("-L", "-l"))]
    link_flags = [f for f in flags if f.startswith(("-L", "-l"))] + ["-fopenmp", "-ldl", "-pthread"]
    base = [options.cxx, "-std=c++20", "-fopenmp", "-w", "-fno-math-errno"]
    # Fewer cases than ctest's where files are large.
    few = {"movements": [], "creation": []}
    few_of_all = ["-DMTF_SWEEP_SLICES=24", "-DMTF_SWEEP_SLICE=5"]

    def run(command, **more):
        return subprocess.run(command, capture_output=True, text=True, **more)

    def compile_one(source, to, includes, optimize, *more):
        return run(base + [optimize, *more, *includes, *compile_flags, "-c", str(ROOT / "tests/sweep" / source), "-o", str(to)])

    def includes(tree):
        return [f"-I{tree / part}" for part in ("include", "backends/kokkos/include", "backends/threads/include", "tests")]

    work.mkdir(parents=True, exist_ok=True)
    plain = {}
    for source in ("main", "shards", "forms"):  # they see nothing of what is mutated
        plain[source] = work / f"{source}.o"
        result = compile_one(f"{source}.cpp", plain[source], includes(ROOT), "-O1")
        if result.returncode != 0:
            sys.exit(result.stderr)

    def sweep(tree, family):
        """The sweep of one family against the headers of a tree: (verdict, text)."""
        objects = [str(o) for o in plain.values()]
        for source, optimize in (("run", "-O1"), (f"{family}_cases", "-O0"), ("operations", "-O0")):
            result = compile_one(f"{source}.cpp", work / f"{source}.mutant.o", includes(tree), optimize,
                                 f"-DMTF_SWEEP_ONLY=operations_of_{family}", *few.get(family, few_of_all))
            if result.returncode != 0:
                return "does not compile", next((l for l in result.stderr.splitlines() if "error" in l), "")
            objects.append(str(work / f"{source}.mutant.o"))
        program = work / "mutant"
        result = run([options.cxx, *objects, "-o", str(program), *link_flags])
        if result.returncode != 0:
            return "does not link", result.stderr
        try:
            result = run([str(program)], timeout=300, env={"OMP_NUM_THREADS": "1", "OMP_PROC_BIND": "false"})
        except subprocess.TimeoutExpired:
            return "hangs", ""
        failed = [l.strip() for l in result.stdout.splitlines() if "FAILED" in l]
        if result.returncode == 0 and not failed:
            return "passes", result.stdout.splitlines()[-1]
        if not failed:
            return f"ends with {result.returncode}", result.stderr[-200:]
        return "caught", failed[0]

    missed, count, families_checked = 0, 0, set()
    for what, family, header, old, new in MUTATIONS[options.skip:][:options.count]:
        if options.only not in what:
            continue
        count += 1
        begin = time.time()
        if family not in families_checked:  # the control: without an error nothing fails
            families_checked.add(family)
            verdict, text = sweep(ROOT, family)
            if verdict != "passes":
                sys.exit(f"without an error, the sweep of {family} {verdict}: {text}")
            print(f"| (none) | {family} | passes: {text} |", flush=True)
        tree = work / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        for part in ("include", "backends/kokkos", "backends/threads"):
            shutil.copytree(ROOT / part, tree / part)
        (tree / "tests").symlink_to(ROOT / "tests")
        text = (tree / header).read_text()
        if text.count(old) != 1:
            sys.exit(f"{header} has {text.count(old)} times: {old}")
        (tree / header).write_text(text.replace(old, new))
        verdict, text = sweep(tree, family)
        caught = verdict in ("caught", "hangs") or verdict.startswith("ends with")
        missed += 0 if caught else 1
        print(f"| {what} | {family} | {'' if caught else 'MISSED: '}{verdict}: {text[:230]} | {time.time() - begin:.0f} s", flush=True)
    print(f"{count} errors, {missed} not caught")
    sys.exit(missed)


main()
