"""Writes functions.bin: functions of elements as PyTorch and NumPy have them, with their derivatives, in float64, on the
CPU; and a variance.

python make_functions.py     writes the file beside this script

Arrays: x, and of each function of one NAME.value and NAME.slope; a and b, and of each function of two NAME.value, NAME.slope_a
and NAME.slope_b. NaN, infinities and zeros of both signs are among the numbers.
"""

import pathlib

import numpy as np
import torch
from make import write

F = torch.nn.functional
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e9, -1e9, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1.0, -1.0, 1e-12, -1e-12, 100.0, -100.0]

OF_ONE = {
    "sin": torch.sin,
    "cos": torch.cos,
    "erf": torch.erf,
    "gelu_erf": F.gelu,
    "elu": lambda x: F.elu(x, 0.75),
    "selu": F.selu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.125),
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "reciprocal": torch.reciprocal,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
}
OF_TWO = {
    "remainder": torch.remainder,
    "sigmoid_cross_entropy": lambda a, b: F.binary_cross_entropy_with_logits(a, b, reduction="none"),
    "glu": lambda a, b: F.glu(torch.stack([a, b]), 0)[0],
    "geglu": lambda a, b: a * F.gelu(b, approximate="tanh"),
    "swiglu": lambda a, b: a * F.silu(b),
}


def slopes(f, *x):
    x = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in x]
    y = f(*x)
    y.sum().backward()
    return y.detach().numpy(), [v.grad.numpy() for v in x]


def main():
    draw = np.random.default_rng(11)
    x = np.concatenate([SPECIAL, draw.normal(0, 3, 200)]).astype(np.float32).astype(np.float64)
    arrays = [("x", x)]
    for name, f in OF_ONE.items():
        value, (slope,) = slopes(f, x)
        arrays += [(f"{name}.value", value), (f"{name}.slope", slope)]
    arrays.append(("sign.value", np.sign(x)))
    a, b = (v.reshape(-1) for v in np.meshgrid(SPECIAL, SPECIAL))
    a = np.concatenate([a, draw.normal(0, 3, 200)]).astype(np.float32).astype(np.float64)
    b = np.concatenate([b, draw.normal(0, 3, 200)]).astype(np.float32).astype(np.float64)
    arrays += [("a", a), ("b", b)]
    for name, f in OF_TWO.items():
        value, (of_a, of_b) = slopes(f, a, b)
        arrays += [(f"{name}.value", value), (f"{name}.slope_a", of_a), (f"{name}.slope_b", of_b)]
    with np.errstate(all="ignore"):
        arrays += [("numpy_remainder", np.remainder(a, b)), ("floor_divide.value", np.floor_divide(a, b))]
    whole = draw.integers(-50, 50, (2, 300)).astype(np.int32)
    whole[1][whole[1] == 0] = 7
    arrays += [("whole_a", whole[0]), ("whole_b", whole[1])]
    arrays += [("whole_remainder", np.remainder(*whole)), ("whole_floor_divide", np.floor_divide(*whole))]
    far = (draw.normal(0, 0.25, (6, 40)) + 4096).astype(np.float32)
    y, (slope,) = slopes(lambda v: torch.var(v, dim=1, correction=0), far.astype(np.float64))
    arrays += [("far", far), ("variance.value", y), ("variance.slope", slope)]
    write(pathlib.Path(__file__).with_name("functions.bin"), dict(arrays))


main()
