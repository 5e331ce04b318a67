"""Writes positions.bin: what positions are in transformers 5.24: ALiBi's slopes, T5's buckets, sinusoids, YaRN.

python make_positions.py     writes the file beside this script
"""

import pathlib

import numpy as np
import torch
from make import write
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.t5.modeling_t5 import T5Attention

DISTANCE = 700


def slopes(heads):
    return build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1].numpy()


def buckets(**options):
    ahead = torch.arange(-DISTANCE, DISTANCE + 1)
    return T5Attention._relative_position_bucket(ahead, **options).numpy().astype(np.int32)


def paper(length, width):
    angle = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, width, 2)[None, :] / width)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(length, width)


def halves(length, width):
    table = MarianSinusoidalPositionalEmbedding(length, width)
    made = table.create_weight() if hasattr(table, "create_weight") else table._init_weight(table.weight)
    return (made if isinstance(made, torch.Tensor) else table.weight).detach().numpy()


def yarn(head, **parameters):
    config = LlamaConfig(
        hidden_size=head,
        num_attention_heads=1,
        head_dim=head,
        max_position_embeddings=parameters.pop("longest"),
        rope_parameters={"rope_type": "yarn", **parameters},
    )
    frequencies, factor = ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    angle = torch.outer(torch.arange(40).float() * 7, frequencies)
    angle = torch.cat([angle, angle], -1)
    return {"cosines": (angle.cos() * factor).numpy(), "sines": (angle.sin() * factor).numpy()}


YARN = {
    "plain": (16, dict(longest=1024, rope_theta=10000.0, factor=4.0, original_max_position_embeddings=256)),
    "exact": (12, dict(longest=4096, rope_theta=500.0, factor=8.0, original_max_position_embeddings=512,
                       beta_fast=20.0, beta_slow=2.0, truncate=False, attention_factor=1.25)),
    "deep": (8, dict(longest=2048, rope_theta=1000.0, factor=16.0, original_max_position_embeddings=128,
                     mscale=0.7, mscale_all_dim=1.0)),
}


def arrays():
    named = {f"alibi.{n}": slopes(n) for n in (1, 2, 6, 8, 12, 71)}
    named["buckets.both"] = buckets()
    named["buckets.before"] = buckets(bidirectional=False)
    named["buckets.more"] = buckets(bidirectional=True, num_buckets=64, max_distance=512)
    named["buckets.few"] = buckets(bidirectional=False, num_buckets=6, max_distance=20)
    named["sinusoids.neighbours"] = paper(50, 12)
    named["sinusoids.halves"] = halves(50, 12)
    for name, (head, parameters) in YARN.items():
        named |= {f"yarn.{name}.{which}": values for which, values in yarn(head, **dict(parameters)).items()}
    return named


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "positions.bin"
    write(path, arrays())
    print(path, path.stat().st_size, "bytes")
