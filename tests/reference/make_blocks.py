"""Writes blocks.bin: a block of a small Llama as transformers computes it in float64, and its gradients.

python make_blocks.py    writes the file beside this script

Parameters are stored as docs/recipes.md writes the block, w is what the result y is weighted by: the loss is the sum of
y w, and gradients are its.
"""

import pathlib

import torch
from make import write
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

BATCH, SEQUENCE, D_MODEL, KV_HEADS, GROUP, D_HEAD, D_FF = 2, 8, 16, 2, 2, 4, 12


def llama():
    heads = KV_HEADS * GROUP
    config = LlamaConfig(
        hidden_size=D_MODEL, intermediate_size=D_FF, num_attention_heads=heads, num_key_value_heads=KV_HEADS,
        head_dim=D_HEAD, rms_norm_eps=1e-5, attn_implementation="eager")
    torch.manual_seed(1)
    block = LlamaDecoderLayer(config, 0)
    with torch.no_grad():
        for p in block.parameters():
            p.copy_(0.5 * torch.randn_like(p) + (1 if p.ndim == 1 else 0))
    x, w = torch.randn(BATCH, SEQUENCE, D_MODEL), torch.randn(BATCH, SEQUENCE, D_MODEL)
    block, x, w = block.double().eval(), x.double().requires_grad_(), w.double()
    places = torch.arange(SEQUENCE)[None]
    turn = LlamaRotaryEmbedding(config).double()(x, places)
    mask = torch.full((SEQUENCE, SEQUENCE), float("-inf"), dtype=torch.float64).triu(1)[None, None]
    y = block(x, attention_mask=mask, position_ids=places, position_embeddings=turn)
    y = y[0] if isinstance(y, tuple) else y
    (y * w).sum().backward()

    a, m = block.self_attn, block.mlp
    forms = {  # our name: (theirs, our shape)
        "gamma1": (block.input_layernorm, (D_MODEL,)),
        "wq": (a.q_proj, (KV_HEADS, GROUP, D_HEAD, D_MODEL)),
        "wk": (a.k_proj, (KV_HEADS, D_HEAD, D_MODEL)),
        "wv": (a.v_proj, (KV_HEADS, D_HEAD, D_MODEL)),
        "wo": (a.o_proj, (D_MODEL, KV_HEADS, GROUP, D_HEAD)),
        "gamma2": (block.post_attention_layernorm, (D_MODEL,)),
        "w_gate": (m.gate_proj, (D_FF, D_MODEL)),
        "w_up": (m.up_proj, (D_FF, D_MODEL)),
        "w_down": (m.down_proj, (D_MODEL, D_FF)),
    }
    arrays = {
        "llama.x": x.detach().float(), "llama.w": w.float(), "llama.y": y.detach(), "llama.grad.x": x.grad,
    }
    for name, (of, shape) in forms.items():
        arrays["llama." + name] = of.weight.detach().float().reshape(shape)
        arrays["llama.grad." + name] = of.weight.grad.reshape(shape)
    return {name: value.numpy() for name, value in arrays.items()}


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "blocks.bin"
    write(path, llama())
    print(path, path.stat().st_size, "bytes")
