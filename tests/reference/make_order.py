"""Writes order.bin: running sums, products and maxima, sorts and gathers of NumPy and PyTorch, in float64.

python make_order.py     writes the file beside this script

x has NaN, infinities, both zeros and ties; plain has none of them but zeros, and the gradients are of it, weighted by w.
"""

import pathlib

import numpy as np
import torch
from make import write

ROWS, N, WIDTH = 6, 16, 3


def gradient(f, of, w):
    x = torch.tensor(of, requires_grad=True)
    (f(x) * torch.tensor(w)).sum().backward()
    return x.grad.numpy()


def behind(x):
    return torch.flip(x, [1])


def arrays():
    r = np.random.default_rng(1)
    x = r.integers(-3, 4, (ROWS, N)).astype(np.float64)
    x[1, 5], x[2, 3], x[2, 9], x[3, 0], x[4, 15] = np.nan, np.inf, -np.inf, -np.inf, np.nan
    x[5, 1::3], x[0, 2::5] = -0.0, -0.0
    plain, w = r.normal(size=(ROWS, N)), r.normal(size=(ROWS, N))
    plain[1, 4] = plain[2, 7] = plain[2, 11] = 0
    ids = r.integers(0, N, (ROWS, 5)).astype(np.int32)
    rows = r.normal(size=(ROWS, 5, WIDTH))
    tables = r.normal(size=(ROWS, N, WIDTH))
    taken = np.take_along_axis(tables, ids[:, :, None].astype(np.int64), 1)
    added = torch.zeros(ROWS, N, WIDTH, dtype=torch.float64).scatter_add_(
        1, torch.tensor(ids[:, :, None], dtype=torch.int64).expand(-1, -1, WIDTH), torch.tensor(rows)
    )
    segments = r.integers(0, 4, N).astype(np.int32)
    sums = torch.zeros(ROWS, 4, dtype=torch.float64).index_add_(
        1, torch.tensor(segments, dtype=torch.int64), torch.tensor(plain)
    )
    hot = torch.nn.functional.one_hot(torch.tensor(segments, dtype=torch.int64), 4).numpy()
    with np.errstate(invalid="ignore"):
        running = {
            "x.sum": np.cumsum(x, 1),
            "x.sum_from": np.flip(np.cumsum(np.flip(x, 1), 1), 1),
            "x.product": np.cumprod(x, 1),
            "x.max": np.maximum.accumulate(x, 1),
        }
    return {
        "x": x,
        **running,
        "x.sort": np.sort(x, 1, kind="stable"),
        "x.argsort": np.argsort(x, 1, kind="stable").astype(np.int32),
        "x.argmin": np.argmin(x, 1).astype(np.int32),
        "plain": plain,
        "w": w,
        "plain.sum": np.cumsum(plain, 1),
        "plain.product": np.cumprod(plain, 1),
        "grad.sum": gradient(lambda x: torch.cumsum(x, 1), plain, w),
        "grad.product": gradient(lambda x: torch.cumprod(x, 1), plain, w),
        "grad.product_from": gradient(lambda x: behind(torch.cumprod(behind(x), 1)), plain, w),
        "grad.max": gradient(lambda x: torch.cummax(x, 1).values, plain, w),
        "grad.sort": gradient(lambda x: torch.sort(x, dim=1, stable=True).values, plain, w),
        "ids": ids,
        "tables": tables,
        "tables.taken": taken,
        "rows": rows,
        "rows.added": added.numpy(),
        "segments": segments,
        "segments.sums": sums.numpy(),
        "segments.hot": hot.astype(np.int32),
    }


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "order.bin"
    write(path, arrays())
    print(path, path.stat().st_size, "bytes")
