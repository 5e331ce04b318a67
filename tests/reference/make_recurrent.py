"""Writes recurrent.bin: a GRU and an LSTM of PyTorch's in float64, their states, results and gradients.

python make_recurrent.py     writes the file beside this script

The loss is the sum of all results times `w`, and of the last states. Weights of gates are [input, hidden] each, in
PyTorch's order of gates: r, z, n and i, f, g, o.
"""

import pathlib

import torch
from make import write

TIME, BATCH, IN, HIDDEN = 7, 4, 6, 8


def turned(x):
    return x.mT if x.dim() == 2 else x


def of(cell, name, gates, states):
    torch.manual_seed(1)
    net = cell(IN, HIDDEN, dtype=torch.float64)
    xs = torch.randn(TIME, BATCH, IN, dtype=torch.float64, requires_grad=True)
    first = [torch.randn(1, BATCH, HIDDEN, dtype=torch.float64, requires_grad=True) for _ in range(states)]
    w = torch.randn(TIME, BATCH, HIDDEN, dtype=torch.float64)
    ys, last = net(xs, first[0] if states == 1 else tuple(first))
    last = [last] if states == 1 else list(last)
    loss = (ys * w).sum() + sum(x.sum() for x in last)
    loss.backward()
    arrays = {"xs": xs, "w": w, "ys": ys, "loss": loss.reshape(1), "grad.xs": xs.grad}
    for i, (a, b) in enumerate(zip(first, last)):
        arrays |= {f"first.{i}": a[0], f"last.{i}": b[0], f"grad.first.{i}": a.grad[0]}
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        p = getattr(net, kind + "_l0")
        for i, gate in enumerate(gates):
            part = slice(i * HIDDEN, (i + 1) * HIDDEN)
            arrays |= {f"{gate}.{kind}": turned(p[part]), f"grad.{gate}.{kind}": turned(p.grad[part])}
    return {f"{name}.{key}": x.detach().contiguous().numpy() for key, x in arrays.items()}


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "recurrent.bin"
    write(path, of(torch.nn.GRU, "gru", "rzn", 1) | of(torch.nn.LSTM, "lstm", "ifgo", 2))
    print(path, path.stat().st_size, "bytes")
