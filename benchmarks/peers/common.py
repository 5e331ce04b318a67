"""What the peers share: where they start, the comparison of their first losses with ours, and the one line that each prints."""
import argparse
import json
import statistics
import sys
import time

import numpy as np

# Relative: of the first loss, and of the second, which depends on gradients and update too. All compute in fp32, in orders of
# their own, and agree to 2e-7 and 7e-7. For comparison: a norm's epsilon of 1e-6 for 1e-5 changes the first loss by 1e-5, no
# causal mask by 1e-4; Adam's of 1e-6 for 1e-8 the second by 9e-5.
TOLERANCES = [2e-6, 2e-5]
# In mixed precision both round to bfloat16, at other places; PyTorch agrees to 4e-6 and 2e-5.
BFLOAT16_TOLERANCES = [2e-5, 1e-4]


class Start:
    """What `benchmark-train-step --start` wrote: initial values by the example's names, ids, labels and the first losses."""

    def __init__(self, path):
        with open(path, "rb") as f:  # safetensors
            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
            data = f.read()
        self.arrays = {name: np.frombuffer(data[slice(*x["data_offsets"])], {"F32": "<f4", "I32": "<i4"}[x["dtype"]])
                       .reshape(x["shape"]) for name, x in header.items()}
        self.ids, self.labels = self["ids"], self["labels"]
        self.batch, self.sequence = self.ids.shape
        self.vocab, self.d_model = self["token_embedding"].shape
        _, self.heads, self.d_head = self["blocks.0.wq"].shape
        self.d_ff = self["blocks.0.w1"].shape[1]
        self.layers = sum(name.endswith(".wq") for name in self.arrays)
        self.tied = "output.0" not in self.arrays

    def __getitem__(self, name):
        return self.arrays[name]

    def block(self, i):
        """A layer as most write it: pairs of scale and bias, or of w [in, out] and b; queries, keys and values are one."""
        x = {name: self[f"blocks.{i}.{name}"] for name in
             "gamma1 beta1 wq bq wk bk wv bv wo bo gamma2 beta2 w1 b1 w2 b2".split()}
        return {"norm1": (x["gamma1"], x["beta1"]), "norm2": (x["gamma2"], x["beta2"]),
                "qkv": (np.hstack([x["w" + n].reshape(self.d_model, -1) for n in "qkv"]),
                        np.hstack([x["b" + n].ravel() for n in "qkv"])),
                "out": (x["wo"].reshape(-1, self.d_model), x["bo"]), "up": (x["w1"], x["b1"]), "down": (x["w2"], x["b2"])}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("start", type=Start, help="what benchmark-train-step --start wrote")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--eager", action="store_true", help="PyTorch: without torch.compile")
    parser.add_argument("--bfloat16", action="store_true", help="PyTorch: under autocast")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="PyTorch: where it computes")
    parser.add_argument("--program", help="llm.c: its train_gpt2")
    return parser.parse_args()


def compare(system, start, losses, tolerances):
    """Ends the program unless the first two losses are ours."""
    ours = start["losses"]
    if not (abs(losses / ours - 1) <= tolerances).all():
        sys.exit(f"{system}: first losses {losses[0]:.6f} {losses[1]:.6f}, ours {ours[0]:.6f} {ours[1]:.6f}: "
                 "this is another training, and its time says nothing")


def report(system, start, losses, times):
    """The system, its first two losses, milliseconds a step, tokens a second."""
    median = statistics.median(times)
    print(system, *(f"{x:.6f}" for x in losses), f"{1e3 * median:.1f}", f"{start.ids.size / median:.0f}", sep="\t", flush=True)


def measure(system, start, step, steps, tolerances=TOLERANCES):
    """step() is one training step and gives its loss; the first two are compared, not timed."""
    losses = [step(), step()]
    compare(system, start, losses, tolerances)
    times = []
    for _ in range(steps):
        before = time.perf_counter()
        step()
        times.append(time.perf_counter() - before)
    report(system, start, losses, times)
