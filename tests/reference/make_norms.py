"""Writes norms.bin: batch norm, its running statistics, and group norm of PyTorch's in float64.

python make_norms.py     writes the file beside this script

The loss is the sum of the results times `w`. x is far from 0 in one channel, as statistics without cancellation want.
"""

import pathlib

import torch
from make import write

BATCH, CHANNELS, LENGTH, GROUPS, STEPS, EPSILON = 4, 6, 5, 3, 3, 1e-5


def gradients(of, tensors, w):
    y = of(*tensors)
    (y * w).sum().backward()
    grads = [x.grad for x in tensors]
    for x in tensors:
        x.grad = None
    return y, grads


def arrays():
    torch.manual_seed(2)
    batches = torch.randn(STEPS, BATCH, CHANNELS, LENGTH, dtype=torch.float64)
    batches[:, :, 2] += 1e6
    gamma = torch.randn(CHANNELS, dtype=torch.float64, requires_grad=True)
    beta = torch.randn(CHANNELS, dtype=torch.float64, requires_grad=True)
    w = torch.randn(BATCH, CHANNELS, LENGTH, dtype=torch.float64)
    found = {"x": batches, "gamma": gamma, "beta": beta, "w": w}
    mean, variance = torch.zeros(CHANNELS, dtype=torch.float64), torch.ones(CHANNELS, dtype=torch.float64)
    f = torch.nn.functional
    for i in range(STEPS):
        x = batches[i].clone().requires_grad_()

        def batch_norm(x, gamma, beta):
            return f.batch_norm(x, mean, variance, gamma, beta, training=True, momentum=0.1, eps=EPSILON)

        y, (dx, dgamma, dbeta) = gradients(batch_norm, (x, gamma, beta), w)
        found |= {f"{i}.y": y, f"{i}.grad.x": dx, f"{i}.grad.gamma": dgamma, f"{i}.grad.beta": dbeta}
    found |= {"running.mean": mean, "running.variance": variance}
    found["evaluated"] = f.batch_norm(batches[0], mean, variance, gamma, beta, training=False, eps=EPSILON)
    x = batches[0].clone().requires_grad_()
    y, (dx, dgamma, dbeta) = gradients(lambda x, g, b: f.group_norm(x, GROUPS, g, b, EPSILON), (x, gamma, beta), w)
    found |= {"group.y": y, "group.grad.x": dx, "group.grad.gamma": dgamma, "group.grad.beta": dbeta}
    return {name: x.detach().contiguous().numpy() for name, x in found.items()}


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "norms.bin"
    write(path, arrays())
    print(path, path.stat().st_size, "bytes")
