"""The training step of benchmarks/train-step in PyTorch, compiled or eager: forward, backward, AdamW; fp32."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from common import Shape, arguments, measure


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

    def forward(self, ids, labels):
        x = self.token(ids) + self.position.weight
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), labels.flatten())


def main():
    options = arguments()
    s = Shape(options.shape)
    torch.manual_seed(1)
    model = Model(s)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, fused=True)
    run = model if options.eager else torch.compile(model)
    ids, labels = (torch.randint(s.vocab, (s.batch, s.sequence)) for _ in range(2))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = run(ids, labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    a = torch.rand(2048, 2048)
    kind = "eager" if options.eager else "compiled"
    measure(f"PyTorch {torch.__version__} {kind}, {s.name}", s, step, lambda: torch.mm(a, a), options.steps)


if __name__ == "__main__":
    main()
