"""The training step of benchmarks/train-step in PyTorch, compiled or eager: forward, backward, AdamW; fp32, or bfloat16 by
autocast, which keeps parameters, their gradients and the state in fp32. On the host, or on CUDA's first device, where fp32
products are taken in fp32 (no TF32, as ours)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from common import BFLOAT16_TOLERANCES, TOLERANCES, arguments, measure


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.heads = s.heads
        self.norm1, self.norm2 = nn.LayerNorm(s.d_model), nn.LayerNorm(s.d_model)
        self.qkv, self.out = nn.Linear(s.d_model, 3 * s.d_model), nn.Linear(s.d_model, s.d_model)
        self.up, self.down = nn.Linear(s.d_model, s.d_ff), nn.Linear(s.d_ff, s.d_model)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.token, self.position = nn.Embedding(s.vocab, s.d_model), nn.Embedding(s.sequence, s.d_model)
        self.blocks = nn.ModuleList(Block(s) for _ in range(s.layers))
        self.norm = nn.LayerNorm(s.d_model)
        self.head = nn.Linear(s.d_model, s.vocab, bias=False)
        if s.tied:
            self.head.weight = self.token.weight

    @torch.no_grad()
    def start(self, s):
        def fill(parameter, values):
            parameter.copy_(torch.tensor(values))

        fill(self.token.weight, s["token_embedding"])
        fill(self.position.weight, s["position_embedding"])
        for i, block in enumerate(self.blocks):
            for name, (w, b) in s.block(i).items():
                fill(getattr(block, name).weight, w.T)
                fill(getattr(block, name).bias, b)
        fill(self.norm.weight, s["gamma_f"])
        fill(self.norm.bias, s["beta_f"])
        if not s.tied:
            fill(self.head.weight, s["output.0"].T)

    def forward(self, ids, labels):
        x = self.token(ids) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


def main():
    options = arguments()
    s = options.start
    device = options.device
    model = Model(s)
    model.start(s)
    model.to(device)
    matrices, rest = ([p for p in model.parameters() if (p.dim() > 1) == many] for many in (True, False))
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0}],
                                  lr=1e-4, fused=True)
    run = model if options.eager else torch.compile(model)
    ids, labels = (torch.tensor(x, dtype=torch.long, device=device) for x in (s.ids, s.labels))

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16, enabled=options.bfloat16):
            loss = run(ids, labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    how = ("eager" if options.eager else "compiled") + (", bfloat16" if options.bfloat16 else "")
    measure(f"PyTorch {torch.__version__.split('+')[0]} {how}", s, step, options.steps,
            BFLOAT16_TOLERANCES if options.bfloat16 else TOLERANCES)


if __name__ == "__main__":
    main()
