"""Writes attention.bin: scaled_dot_product_attention of PyTorch with biases, segments, groups and values of another
width, its composition with a soft cap, and the gradients, in float64.

python make_attention.py     writes the file beside this script

Gradients are of the sum of the results weighted by g. Queries are [batch, group, member, query, head], keys and values
[batch, group, key, head], the members of a group share them.
"""

import pathlib

import numpy as np
import torch
from make import write

BATCH, GROUPS, MEMBERS, QUERIES, KEYS, HEAD, WIDE = 2, 2, 3, 6, 9, 4, 5
SCALE, CAP = 0.6, 1.3


def attended(tensors, bias=None, mask=None, cap=0.0):
    """The result, and the gradients of q, k, v and, if there is one, of the bias."""
    q, k, v, g = (torch.tensor(t, requires_grad=i < 3) for i, t in enumerate(tensors))
    added = None if bias is None else torch.tensor(bias, requires_grad=True)
    keys, values = (x.unsqueeze(2).expand(-1, -1, MEMBERS, -1, -1) for x in (k, v))
    if cap:
        scores = CAP * torch.tanh(SCALE * q @ keys.transpose(-1, -2) / CAP)
        if added is not None:
            scores = scores + added
        if mask is not None:
            scores = scores.masked_fill(~torch.tensor(mask), -torch.inf)
        out = torch.softmax(scores, -1) @ values
    else:
        terms = added if mask is None else torch.tensor(mask)
        if added is not None and mask is not None:
            terms = added.masked_fill(~torch.tensor(mask), -torch.inf)
        out = torch.nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=terms, scale=SCALE)
    (out * g).sum().backward()
    all = [out.detach(), q.grad, k.grad, v.grad] + ([] if added is None else [added.grad])
    return [x.numpy() for x in all]


def arrays():
    r = np.random.default_rng(2)
    q = r.normal(size=(BATCH, GROUPS, MEMBERS, QUERIES, HEAD))
    k, v = (r.normal(size=(BATCH, GROUPS, KEYS, HEAD)) for _ in range(2))
    wide = r.normal(size=(BATCH, GROUPS, KEYS, WIDE))
    g = r.normal(size=(BATCH, GROUPS, MEMBERS, QUERIES, HEAD))
    wide_g = r.normal(size=(BATCH, GROUPS, MEMBERS, QUERIES, WIDE))
    bias = r.normal(size=(GROUPS, MEMBERS, QUERIES, KEYS))
    of_queries = np.sort(r.integers(0, 3, (BATCH, QUERIES)), 1).astype(np.int32)
    of_keys = np.sort(r.integers(0, 3, (BATCH, KEYS)), 1).astype(np.int32)
    of_keys[:, :3] = [0, 1, 2]  # every query finds its segment
    positions = np.arange(KEYS)[None, :] <= np.arange(QUERIES)[:, None] + 3
    one = (of_queries[:, :, None] == of_keys[:, None, :])[:, None, None]
    segments = np.broadcast_to(positions & one, (BATCH, GROUPS, MEMBERS, QUERIES, KEYS)).copy()
    causal = np.broadcast_to(positions, segments.shape).copy()
    found = {
        "biased": attended((q, k, v, g), bias=bias),
        "biased_causal": attended((q, k, v, g), bias=bias, mask=causal),
        "capped": attended((q, k, v, g), bias=bias, mask=causal, cap=CAP),
        "packed": attended((q, k, v, g), mask=segments),
        "wide": attended((q, k, wide, wide_g), mask=causal),
    }
    named = {}
    for name, results in found.items():
        for what, x in zip(("out", "dq", "dk", "dv", "dbias"), results):
            named[f"{name}.{what}"] = x
    return {
        "q": q,
        "k": k,
        "v": v,
        "g": g,
        "wide": wide,
        "wide_g": wide_g,
        "bias": bias,
        "of_queries": of_queries,
        "of_keys": of_keys,
        **named,
    }


if __name__ == "__main__":
    write(pathlib.Path(__file__).parent / "attention.bin", arrays())
