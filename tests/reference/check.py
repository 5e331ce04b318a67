"""Checks untied.bin and tied.bin with NumPy alone: a second forward pass, finite differences, one AdamW step by hand."""

import math
import pathlib

import numpy as np


def read(path):
    with open(path, "rb") as f:
        assert f.readline() == b"mtf-reference 1\n"
        lines = [f.readline().split() for _ in range(int(f.readline()))]
        assert f.readline() == b"\n"
        arrays = {}
        for name, kind, ndims, *shape in lines:
            shape = [int(d) for d in shape]
            assert len(shape) == int(ndims)
            dtype = np.dtype({b"f64": "<f8", b"f32": "<f4", b"i32": "<i4"}[kind])
            data = f.read(dtype.itemsize * math.prod(shape))
            arrays[name.decode()] = np.frombuffer(data, dtype).reshape(shape)
        assert f.read() == b""
    return arrays


def loss_of(p, ids, labels):
    def norm(x, gamma, beta):
        centred = x - x.mean(1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * gamma + beta

    total = 0.0
    for row, expected in zip(ids, labels):
        n = len(row)
        x = p["token_embedding"][row] + p["position_embedding"]
        for i in range(2):
            w = {k.split(".")[2]: v for k, v in p.items() if k.startswith(f"blocks.{i}.")}
            h = norm(x, w["gamma1"], w["beta1"])
            y = x + w["bo"]
            for head in range(4):
                q, k, v = (h @ w["w" + c][:, head] + w["b" + c][head] for c in "qkv")
                for s in range(n):  # position s sees 0..s
                    e = np.exp(k[: s + 1] @ q[s] / math.sqrt(8))
                    y[s] += (e / e.sum()) @ v[: s + 1] @ w["wo"][head]
            x = y
            h = norm(x, w["gamma2"], w["beta2"]) @ w["w1"] + w["b1"]
            h = 0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))
            x = x + h @ w["w2"] + w["b2"]
        h = norm(x, p["gamma_f"], p["beta_f"])
        logits = h @ (p["output"] if "output" in p else p["token_embedding"].T)
        total += (np.log(np.exp(logits).sum(1)) - logits[np.arange(n), expected]).sum()
    return total / labels.size


for file in ("untied.bin", "tied.bin"):
    a = read(pathlib.Path(__file__).resolve().parent / file)
    names = [n[5:] for n in a if n.startswith("grad.")]
    p = {n: a[n].astype(np.float64) for n in names}
    ids, labels = a["ids"], a["labels"]

    loss = abs(loss_of(p, ids[0], labels[0]) - a["loss"][0])

    gradient, rng = 0.0, np.random.default_rng(0)
    for n in names:
        g = a["grad." + n].ravel()
        for at in {int(np.abs(g).argmax()), *rng.integers(0, g.size, 2).tolist()}:
            kept, f, d = p[n].flat[at], [], 1e-3
            for step in (-2, -1, 1, 2):
                p[n].flat[at] = kept + step * d
                f.append(loss_of(p, ids[0], labels[0]))
            p[n].flat[at] = kept
            gradient = max(gradient, abs((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * d) - g[at]))

    norm = math.sqrt(sum((a["grad." + n] ** 2).sum() for n in names))
    for n in names:  # step 0: the moments, corrected for their bias, are the gradient and its square
        g = a["grad." + n] * min(1.0, 1.0 / (norm + 1e-6))
        lr, decay = 1e-2 / 5, 0.0 if n.split(".")[-1].startswith(("b", "gamma")) else 0.1
        p[n] = p[n] * (1 - lr * decay) - lr * g / (np.abs(g) + 1e-8)
    second = abs(loss_of(p, ids[1], labels[1]) - a["loss"][1])

    norm = abs(norm - a["gradient_norm"][0])
    print(f"{file}: loss {loss:.1e}, gradient {gradient:.1e}, gradient_norm {norm:.1e}, loss after step 0 {second:.1e}")
    assert max(loss, norm, second) < 1e-12 and gradient < 1e-9
