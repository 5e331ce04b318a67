"""Writes experts.bin: a block of experts as transformers has it for Mixtral, in float64, with its gradients.

python make_experts.py     writes the file beside this script

The router's softmax is in float32, as transformers computes it. Weights are stored as the tests name their dimensions:
gate [width, expert], w1 and w3 [expert, width, ff], w2 [expert, ff, width]. The loss is the sum of y weighted by w, and
the balance loss of transformers times 0.5.
"""

import pathlib

import torch
from make import write
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock, load_balancing_loss_func

BATCH, TOKENS, WIDTH, FF, EXPERTS = 4, 8, 6, 4, 4


def arrays():
    torch.manual_seed(1)
    config = MixtralConfig(
        hidden_size=WIDTH,
        intermediate_size=FF,
        num_local_experts=EXPERTS,
        num_experts_per_tok=2,
        router_jitter_noise=0.0,
        experts_implementation="eager",
    )
    block = MixtralSparseMoeBlock(config).double()
    with torch.no_grad():
        for p in block.parameters():
            p.copy_(torch.randn(p.shape, dtype=torch.float64))
    x = torch.randn(BATCH, TOKENS, WIDTH, dtype=torch.float64, requires_grad=True)
    w = torch.randn(BATCH, TOKENS, WIDTH, dtype=torch.float64)
    y = block(x)
    logits, _, _ = block.gate(x)
    balance = load_balancing_loss_func((logits,), EXPERTS, 2)
    ((y * w).sum() + 0.5 * balance).backward()

    def stored(name, gate, both, down):
        first, third = both.chunk(2, dim=1)
        return {
            f"{name}gate": gate.T,
            f"{name}w1": first.transpose(1, 2),
            f"{name}w3": third.transpose(1, 2),
            f"{name}w2": down.transpose(1, 2),
        }

    weights = [block.gate.weight, block.experts.gate_up_proj, block.experts.down_proj]
    found = {
        "x": x,
        "w": w,
        **stored("", *weights),
        "y": y,
        "balance": balance.double().reshape(1),
        "grad.x": x.grad,
        **stored("grad.", *(p.grad for p in weights)),
    }
    return {name: a.detach().contiguous().numpy() for name, a in found.items()}


if __name__ == "__main__":
    path = pathlib.Path(__file__).parent / "experts.bin"
    write(path, arrays())
    print(path, path.stat().st_size, "bytes")
