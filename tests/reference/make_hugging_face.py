"""Writes hugging_face/NAME: small random models as transformers saves them, and what it computes with them.

python make_hugging_face.py           write them, beside this script
python make_hugging_face.py DIR NAME  compare DIR, which mtf wrote, with NAME: the config's sizes, all values to the bit

expected.safetensors: tokens, labels [4, 16] (-1: none), logits [4, 16, vocab]; losses [20], before each step of AdamW;
greedy [72], of which 8 tokens are the prompt. Computed in float64 from the float32 parameters.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel

HERE = pathlib.Path(__file__).parent / "hugging_face"
MODELS = {"gpt2": {}, "gpt2-untied": {"tie_word_embeddings": False, "n_inner": 48}}


def make(name, more):
    torch.manual_seed(len(name))
    config = GPT2Config(
        vocab_size=61, n_positions=72, n_embd=32, n_layer=3, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=60, eos_token_id=60, **more)
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        for x in model.parameters():
            x.add_(0.15 * torch.randn_like(x))
    model.save_pretrained(HERE / name)
    model = model.double().eval()
    tokens, labels = torch.randint(0, 61, (4, 16)), torch.randint(0, 61, (4, 16))
    labels[1, 3:] = -1
    labels[2, 0] = -1
    expected = {"tokens": tokens.int(), "labels": labels.int()}
    with torch.no_grad():
        expected["logits"] = model(tokens).logits.float()
        seen = tokens[:1, :8]
        while seen.shape[1] < 72:
            seen = torch.cat([seen, model(seen).logits[:, -1:].argmax(-1)], 1)
        expected["greedy"] = seen[0].int()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), eps=1e-8, weight_decay=0)
    losses = []
    for _ in range(20):
        logits = model(tokens).logits
        loss = F.cross_entropy(logits.reshape(-1, 61), labels.reshape(-1), ignore_index=-1)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    expected["losses"] = torch.tensor(losses, dtype=torch.float64)
    save_file(expected, HERE / name / "expected.safetensors", metadata={"format": "pt"})
    print(name, losses[0], losses[-1])


def compare(directory, name):
    ours, theirs = (GPT2LMHeadModel.from_pretrained(d) for d in (directory, HERE / name))
    for key in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner", "tie_word_embeddings"):
        a, b = (getattr(m.config, key) for m in (ours, theirs))
        assert a == b or (key == "n_inner" and {a, b} == {None, 4 * ours.config.n_embd}), (key, a, b)
    a, b = ours.state_dict(), theirs.state_dict()
    assert a.keys() == b.keys()
    assert all(torch.equal(a[k], b[k]) for k in a)
    print(f"{directory} is {name}, to the bit: {len(a)} tensors")


if len(sys.argv) > 1:
    compare(*sys.argv[1:])
else:
    for name, more in MODELS.items():
        make(name, more)
