"""Writes optimizers.bin: 50 steps of optimizers of PyTorch, transformers and lion-pytorch, in float64, on the CPU.

python make_optimizers.py     writes the file beside this script

Gradients are functions of the parameters and of the step alone, so that the C++ test makes them of the same formula:
g = (p - target) * (1 + 0.5 sin(step + 1)) + 0.05 cos(0.1 element + step), where element is the place of an element in
its tensor.
"""

import pathlib

import lion_pytorch
import numpy as np
import torch
import transformers
from make import write

STEPS = 50
SHAPES = {"matrix": (128, 136), "stack": (2, 128, 132), "vector": (64,)}


def initial():
    """Multiples of 1/64, which all types hold."""
    return {
        n: ((np.arange(np.prod(s)) * 37 % 101 - 50) / 64).astype(np.float32).reshape(s) for n, s in SHAPES.items()
    }


def gradient(p, step):
    e = torch.arange(p.numel(), dtype=torch.float64).reshape(p.shape)
    return (p - 0.25) * (1 + 0.5 * np.sin(step + 1.0)) + 0.05 * torch.cos(0.1 * e + step)


def train(make, decay, start):
    p = {n: torch.tensor(a, dtype=torch.float64, requires_grad=True) for n, a in start.items()}
    groups = [
        {"params": [p["matrix"], p["stack"]], "weight_decay": decay},
        {"params": [p["vector"]], "weight_decay": 0.0},
    ]
    optimizer = make(groups)
    for step in range(STEPS):
        if make is adam_uncorrected:
            undo_correction(optimizer, decay, step)
        for x in p.values():
            x.grad = gradient(x.detach(), step)
        optimizer.step()
    return {n: x.detach().numpy() for n, x in p.items()}


def adam_uncorrected(p):
    """Adam without bias correction, as Mesh-TensorFlow's: PyTorch's, whose numbers undo the correction at each step."""
    return torch.optim.AdamW(p, lr=0.0, betas=(0.9, 0.999))


def undo_correction(optimizer, decay, step, lr=0.01, epsilon=1e-6):
    first, second = 1 - 0.9 ** (step + 1), (1 - 0.999 ** (step + 1)) ** 0.5
    for group, decays in zip(optimizer.param_groups, (decay, 0.0)):
        group["lr"] = lr * first / second
        group["eps"] = epsilon / second
        group["weight_decay"] = decays * second / first


Adafactor = transformers.optimization.Adafactor

# Name: constructor, weight decay of the matrices.
OPTIMIZERS = {
    "adafactor": (lambda p: Adafactor(p, scale_parameter=True, relative_step=True, warmup_init=False), 0.01),
    "adafactor_absolute": (
        lambda p: Adafactor(p, lr=0.01, scale_parameter=False, relative_step=False, warmup_init=False),
        0.0,
    ),
    "adam": (adam_uncorrected, 0.1),
    "lion": (lambda p: lion_pytorch.Lion(p, lr=3e-3, betas=(0.9, 0.99)), 0.1),
    "momentum": (lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9), 0.0),
}


def main():
    torch.set_num_threads(1)
    start = initial()
    arrays = {}
    for name, (make, decay) in OPTIMIZERS.items():
        for n, x in train(make, decay, start).items():
            # Of a large tensor every 61st element: enough to see an error in any row or column.
            arrays[f"{name}.{n}"] = x.reshape(-1)[:: 61 if x.size > 1000 else 1].copy()
    write(pathlib.Path(__file__).parent / "optimizers.bin", arrays)


if __name__ == "__main__":
    main()
