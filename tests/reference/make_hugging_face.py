"""Writes hugging_face/NAME: small random models as transformers saves them, and what it computes with them.

python make_hugging_face.py           write those that are not there, beside this script
python make_hugging_face.py DIR NAME  compare DIR, which mtf wrote, with NAME: the config's sizes, all values to the bit

expected.safetensors: tokens, labels [4, 16] (-1: none), logits [4, 16, vocab]; losses [20], before each step of AdamW;
greedy [72], of which 8 tokens are the prompt. Computed in float64 from the float32 parameters.
"""

import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig

HERE = pathlib.Path(__file__).parent / "hugging_face"


def gpt2(**more):
    return GPT2Config(
        vocab_size=61, n_positions=72, n_embd=32, n_layer=3, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=60, eos_token_id=60, **more)


def llama(heads, kv_heads, **more):
    return LlamaConfig(
        vocab_size=61, max_position_embeddings=72, hidden_size=8 * heads, intermediate_size=48, num_hidden_layers=3,
        num_attention_heads=heads, num_key_value_heads=kv_heads, bos_token_id=60, eos_token_id=60, **more)


# Three heads of keys and values are an odd number; of a head of 8 with llama3's scaling some waves are long, some short.
MODELS = {
    "gpt2": gpt2(),
    "gpt2-untied": gpt2(tie_word_embeddings=False, n_inner=48),
    "gpt2-epsilon": gpt2(layer_norm_epsilon=0.02),
    "llama": llama(4, 2, rms_norm_eps=1e-5),
    "llama-tied": llama(
        6, 3, tie_word_embeddings=True, head_dim=8,
        rope_parameters={"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 32}),
}


def make(name, config):
    torch.manual_seed(len(name))
    model = AutoModelForCausalLM.from_config(config)
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
    ours, theirs = (AutoModelForCausalLM.from_pretrained(d) for d in (directory, HERE / name))
    for key in ("vocab_size", "n_positions", "n_embd", "n_layer", "n_head", "n_inner", "tie_word_embeddings", "hidden_size",
                "intermediate_size", "num_attention_heads", "num_key_value_heads", "layer_norm_epsilon", "rms_norm_eps",
                "rope_parameters"):
        a, b = (getattr(m.config, key, None) for m in (ours, theirs))
        assert a == b or (key == "n_inner" and {a, b} == {None, 4 * ours.config.n_embd}), (key, a, b)
    a, b = ours.state_dict(), theirs.state_dict()
    assert a.keys() == b.keys()
    assert all(torch.equal(a[k], b[k]) for k in a)
    print(f"{directory} is {name}, to the bit: {len(a)} tensors")


if len(sys.argv) > 1:
    compare(*sys.argv[1:])
else:
    for name, config in MODELS.items():
        if not (HERE / name).exists():
            make(name, config)
