"""Writes untied.bin and tied.bin: 20 training steps of a small Transformer in PyTorch, float64, on the CPU.

python make.py              write both files beside this script
python make.py --float32    write nothing; print how far the same training in float32 ends from the float64 one
"""

import math
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

LAYERS, MODEL, HEADS, HEAD, FF, SEQUENCE, BATCH, VOCAB = 2, 32, 4, 8, 64, 16, 4, 32
STEPS, WARMUP, PEAK, LEAST, DECAY, CLIP = 20, 5, 1e-2, 1e-3, 0.1, 1.0


def initial(rng, tied):
    """Name to float32 array, in the order of the file."""

    def normal(scale, *shape, mean=0.0):
        return (mean + scale * rng.standard_normal(shape)).astype(np.float32)

    p = {"token_embedding": normal(0.2, VOCAB, MODEL), "position_embedding": normal(0.1, SEQUENCE, MODEL)}
    for i in range(LAYERS):
        b = f"blocks.{i}."
        p[b + "gamma1"], p[b + "beta1"] = normal(0.2, MODEL, mean=1.0), normal(0.1, MODEL)
        for x in "qkv":
            p[b + "w" + x], p[b + "b" + x] = normal(0.2, MODEL, HEADS, HEAD), normal(0.1, HEADS, HEAD)
        p[b + "wo"], p[b + "bo"] = normal(0.15, HEADS, HEAD, MODEL), normal(0.05, MODEL)
        p[b + "gamma2"], p[b + "beta2"] = normal(0.2, MODEL, mean=1.0), normal(0.1, MODEL)
        p[b + "w1"], p[b + "b1"] = normal(0.2, MODEL, FF), normal(0.1, FF)
        p[b + "w2"], p[b + "b2"] = normal(0.15, FF, MODEL), normal(0.05, MODEL)
    p["gamma_f"], p["beta_f"] = normal(0.2, MODEL, mean=1.0), normal(0.1, MODEL)
    if not tied:
        p["output"] = normal(0.03, MODEL, VOCAB)
    return p


def batches(rng):
    """ids and labels, [steps, batch, sequence]: mostly next = 5 * token + 7 (mod vocab), one in eight at random."""
    tokens = rng.integers(0, VOCAB, (STEPS, BATCH, SEQUENCE + 1), dtype=np.int32)
    for s in range(1, SEQUENCE + 1):
        follow = rng.random((STEPS, BATCH)) < 0.875
        tokens[..., s] = np.where(follow, (5 * tokens[..., s - 1] + 7) % VOCAB, tokens[..., s])
    return tokens[..., :-1].copy(), tokens[..., 1:].copy()


def loss_of(p, ids, labels):
    def norm(x, gamma, beta):
        return F.layer_norm(x, (MODEL,), p[gamma], p[beta], eps=1e-5)

    x = p["token_embedding"][ids] + p["position_embedding"]
    future = torch.triu(torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool), diagonal=1)
    for i in range(LAYERS):
        b = f"blocks.{i}."
        h = norm(x, b + "gamma1", b + "beta1")
        q, k, v = (torch.einsum("bsm,mhd->bshd", h, p[b + "w" + n]) + p[b + "b" + n] for n in "qkv")
        scores = torch.einsum("bshd,bthd->bhst", q, k) / math.sqrt(HEAD)
        weights = torch.softmax(scores.masked_fill(future, -math.inf), dim=-1)
        o = torch.einsum("bhst,bthd->bshd", weights, v)
        x = x + torch.einsum("bshd,hdm->bsm", o, p[b + "wo"]) + p[b + "bo"]
        h = norm(x, b + "gamma2", b + "beta2")
        h = F.gelu(torch.einsum("bsm,mf->bsf", h, p[b + "w1"]) + p[b + "b1"], approximate="tanh")
        x = x + torch.einsum("bsf,fm->bsm", h, p[b + "w2"]) + p[b + "b2"]
    h = norm(x, "gamma_f", "beta_f")
    if "output" in p:
        logits = torch.einsum("bsm,mv->bsv", h, p["output"])
    else:
        logits = torch.einsum("bsm,vm->bsv", h, p["token_embedding"])
    return F.cross_entropy(logits.reshape(-1, VOCAB), labels.reshape(-1))


def learning_rate(t):
    if t < WARMUP:
        return PEAK * (t + 1) / WARMUP
    return LEAST + 0.5 * (PEAK - LEAST) * (1 + math.cos(math.pi * (t - WARMUP) / (STEPS - WARMUP)))


def decays(name):
    """Weights decay; biases (bq, bo, b1, beta1, ...) and the scales of norms (gamma1, ...) do not."""
    return not name.split(".")[-1].startswith(("b", "gamma"))


def train(start, ids, labels, dtype):
    p = {n: torch.tensor(a, dtype=dtype, requires_grad=True) for n, a in start.items()}
    groups = [
        {"params": [x for n, x in p.items() if decays(n)], "weight_decay": DECAY},
        {"params": [x for n, x in p.items() if not decays(n)], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), eps=1e-8)
    losses, norms, first = [], [], None
    for t in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(t)
        optimizer.zero_grad()
        loss = loss_of(p, torch.from_numpy(ids[t]).long(), torch.from_numpy(labels[t]).long())
        loss.backward()
        if t == 0:
            first = {"grad." + n: x.grad.numpy().copy() for n, x in p.items()}
        norms.append(torch.nn.utils.clip_grad_norm_(p.values(), CLIP).item())  # the norm before clipping
        losses.append(loss.item())
        optimizer.step()
    final = {"final." + n: x.detach().numpy().copy() for n, x in p.items()}
    return {"loss": np.array(losses), **first, "gradient_norm": np.array(norms), **final}


def write(path, arrays):
    types = {"float64": ("f64", "<f8"), "float32": ("f32", "<f4"), "int32": ("i32", "<i4")}
    with open(path, "wb") as f:
        f.write(f"mtf-reference 1\n{len(arrays)}\n".encode())
        for n, a in arrays.items():
            f.write((" ".join([n, types[str(a.dtype)][0], str(a.ndim), *map(str, a.shape)]) + "\n").encode())
        f.write(b"\n")
        for a in arrays.values():
            f.write(a.astype(types[str(a.dtype)][1]).tobytes())


def compare(exact, other):
    """The largest absolute differences; the bias of k apart, see README.md."""

    def worst(keys):
        return max((float(np.abs(other[k] - exact[k]).max()), k) for k in keys)

    bias_k = [k for k in exact if k.endswith(".bk")]
    for title, keys in {
        "loss": ["loss"],
        "gradient_norm": ["gradient_norm"],
        "grad.*": [k for k in exact if k.startswith("grad.") and k not in bias_k],
        "grad.*.bk": [k for k in bias_k if k.startswith("grad.")],
        "final.*": [k for k in exact if k.startswith("final.") and k not in bias_k],
        "final.*.bk": [k for k in bias_k if k.startswith("final.")],
    }.items():
        print("  {:14} {:.1e} in {}".format(title, *worst(keys)))


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    print("torch", torch.__version__, "numpy", np.__version__, "python", sys.version.split()[0])
    for name, seed in (("untied", 1), ("tied", 2)):
        rng = np.random.default_rng(seed)
        start = initial(rng, name == "tied")
        ids, labels = batches(rng)
        result = train(start, ids, labels, torch.float64)
        if "--float32" in sys.argv[1:]:
            print(name, "float32 against float64")
            compare(result, train(start, ids, labels, torch.float32))
            continue
        path = pathlib.Path(__file__).resolve().parent / f"{name}.bin"
        write(path, {**start, "ids": ids, "labels": labels, **result})
        print(name, path.stat().st_size, "bytes")
        print("  loss         ", " ".join(f"{x:.6f}" for x in result["loss"]))
        print("  gradient_norm", " ".join(f"{x:.4f}" for x in result["gradient_norm"]))


if __name__ == "__main__":
    main()
