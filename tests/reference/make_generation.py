"""Writes ../data/reference/generation.json and blocks.gguf, and hugging_face/llama.gguf.

generation.json: what transformers' processors leave of logits, as probabilities; texts of chat templates.
blocks.gguf: for each type of GGUF's a tensor NAME of random blocks, and its elements by gguf's own library, NAME.f32.
llama.gguf: hugging_face/llama as llama.cpp's convert_hf_to_gguf writes it (rows of queries and keys in pairs).
"""

import json
import pathlib

import gguf
import numpy as np
import torch
from safetensors.numpy import load_file
from transformers.generation.logits_process import (
    MinPLogitsWarper, RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper)
from transformers.utils.chat_template_utils import render_jinja_template

HERE = pathlib.Path(__file__).parent
DATA = HERE.parent / "data" / "reference"
torch.manual_seed(1)
rng = np.random.default_rng(1)

sampling = []
for options in (
    {"temperature": 1.0}, {"temperature": 0.5}, {"temperature": 1.7, "top_k": 3}, {"temperature": 1.0, "top_p": 0.6},
    {"temperature": 0.8, "top_k": 7, "top_p": 0.8}, {"temperature": 1.0, "min_p": 0.2}, {"repetition_penalty": 1.5, "temperature": 1.0},
    {"repetition_penalty": 1.3, "temperature": 0.9, "top_k": 5, "top_p": 0.9}, {"temperature": 1.0, "top_p": 0.01},
    {"temperature": 1.0, "top_k": 1}):
    for ties in (False, True):
        z = (2 * torch.randn(1, 12)).round(decimals=0 if ties else 3)
        prompt = torch.randint(0, 12, (1, 5))
        kept = z.clone()
        if "repetition_penalty" in options:
            kept = RepetitionPenaltyLogitsProcessor(options["repetition_penalty"])(prompt, kept)
        kept = TemperatureLogitsWarper(options["temperature"])(prompt, kept)
        if "top_k" in options:
            kept = TopKLogitsWarper(options["top_k"])(prompt, kept)
        if "top_p" in options and not ties:  # of equal ones transformers drops whichever its sort has first
            kept = TopPLogitsWarper(options["top_p"])(prompt, kept)
        elif "top_p" in options:
            continue
        if "min_p" in options:
            kept = MinPLogitsWarper(options["min_p"])(prompt, kept)
        sampling.append({"logits": z[0].tolist(), "prompt": prompt[0].tolist(), "options": options,
                         "probabilities": kept.softmax(-1)[0].tolist()})

LLAMA3 = ("{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + "
          "message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
          "{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}"
          "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")
ZEPHYR = ("{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n' + message['content'] + eos_token }}\n"
          "{% elif message['role'] == 'system' %}\n{{ '<|system|>\n' + message['content'] + eos_token }}\n"
          "{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n'  + message['content'] + eos_token }}\n{% endif %}\n"
          "{% if loop.last and add_generation_prompt %}\n{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}")
CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
WITH_SYSTEM = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
               "You are a helpful assistant.<|im_end|>\n' }}{% endif %}" + CHATML.removeprefix("{% for message in messages %}"))
ESCAPED = WITH_SYSTEM.replace("\n", "\\n")
chats = []
for template in (CHATML, WITH_SYSTEM, ESCAPED, LLAMA3, ZEPHYR):
    for messages in (
        [("user", "Name three oceans.")], [("system", "Be brief."), ("user", " Why? \n")],
        [("user", "Hi"), ("assistant", "Hello!"), ("user", "And?")]):
        said = [{"role": r, "content": c} for r, c in messages]
        text, _ = render_jinja_template([said], chat_template=template, add_generation_prompt=True, bos_token="<|begin_of_text|>",
                                        eos_token="</s>")
        chats.append({"template": template, "messages": said, "text": text[0]})
DATA.joinpath("generation.json").write_text(json.dumps({"sampling": sampling, "chats": chats}, indent=1) + "\n")

w = gguf.GGUFWriter(DATA / "blocks.gguf", "none")
w.add_string("a.text", "words")
w.add_array("a.list", [1, 2, 3])
for name in ("F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"):
    kind = gguf.GGMLQuantizationType[name]
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (2, 512 // elements * size), dtype=np.uint8)
    blocks = raw.reshape(-1, size)
    # Scales are halves that are finite and neither huge nor tiny.
    for at in {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}.get(name, []):
        blocks[:, at + 1] = 0x28 + blocks[:, at + 1] % 16 + 128 * (blocks[:, at + 1] // 128)
    if name in ("F16", "BF16"):
        blocks[:, 1] &= 0xBB if name == "F16" else 0xBF
    wide = gguf.dequantize(raw, kind).astype(np.float32)
    assert np.isfinite(wide).all(), name
    w.add_tensor(name, raw, raw_dtype=kind)
    w.add_tensor(name + ".f32", wide)
w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()

NAMES = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
BLOCK = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
model = HERE / "hugging_face" / "llama"
config = json.loads((model / "config.json").read_text())
w = gguf.GGUFWriter(HERE / "hugging_face" / "llama.gguf", "llama")
w.add_block_count(config["num_hidden_layers"])
w.add_context_length(config["max_position_embeddings"])
w.add_embedding_length(config["hidden_size"])
w.add_feed_forward_length(config["intermediate_size"])
w.add_head_count(config["num_attention_heads"])
w.add_head_count_kv(config["num_key_value_heads"])
w.add_layer_norm_rms_eps(config["rms_norm_eps"])
w.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
w.add_vocab_size(config["vocab_size"])
w.add_tokenizer_model("gpt2")
w.add_tokenizer_pre("gpt-2")
tokens = [chr(ord("!") + i) for i in range(59)] + ["AB", "<|end|>"]
w.add_token_list(tokens)
w.add_token_types([gguf.TokenType.NORMAL] * 60 + [gguf.TokenType.CONTROL])
w.add_token_merges(["A B"])
w.add_eos_token_id(60)
w.add_bos_token_id(60)
for name, x in load_file(model / "model.safetensors").items():
    stem = name.removesuffix(".weight")
    if stem.startswith("model.layers."):
        layer, part = stem.removeprefix("model.layers.").split(".", 1)
        theirs = f"blk.{layer}.{BLOCK[part]}.weight"
        if part in ("self_attn.q_proj", "self_attn.k_proj"):  # as convert_hf_to_gguf.py's permute
            heads = config["num_attention_heads" if "q_proj" in part else "num_key_value_heads"]
            x = x.reshape(heads, 2, x.shape[0] // heads // 2, x.shape[1]).swapaxes(1, 2).reshape(x.shape)
    else:
        theirs = NAMES[stem] + ".weight"
    w.add_tensor(theirs, np.ascontiguousarray(x))
w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()

# letters.gguf: random weights, a tokenizer of all bytes, a chat template.
def letters_of_bytes():
    """GPT-2's: those that can be seen are themselves, others come after U+0100."""
    seen = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAC + 1), *range(0xAE, 0xFF + 1)]
    others = [b for b in range(256) if b not in seen]
    return [chr(b) if b in seen else chr(256 + others.index(b)) for b in range(256)]


D, F, HEADS, KV, V = 32, 48, 4, 2, 260
w = gguf.GGUFWriter(HERE / "hugging_face" / "letters.gguf", "llama")
w.add_block_count(1), w.add_context_length(256), w.add_embedding_length(D), w.add_feed_forward_length(F)
w.add_head_count(HEADS), w.add_head_count_kv(KV), w.add_layer_norm_rms_eps(1e-5), w.add_rope_freq_base(10000.0)
w.add_tokenizer_model("gpt2"), w.add_tokenizer_pre("smollm")
w.add_token_list(letters_of_bytes() + ["th", "the", "<|im_start|>", "<|im_end|>"])
w.add_token_types([gguf.TokenType.NORMAL] * 258 + [gguf.TokenType.CONTROL] * 2)
w.add_token_merges(["t h", "th e"])
w.add_eos_token_id(259), w.add_bos_token_id(258)
w.add_chat_template(WITH_SYSTEM)
for name, shape in {"token_embd": (V, D), "output_norm": (D,), "blk.0.attn_norm": (D,), "blk.0.ffn_norm": (D,),
                    "blk.0.attn_q": (D, D), "blk.0.attn_k": (D // 2, D), "blk.0.attn_v": (D // 2, D), "blk.0.attn_output": (D, D),
                    "blk.0.ffn_gate": (F, D), "blk.0.ffn_up": (F, D), "blk.0.ffn_down": (D, F)}.items():
    x = rng.standard_normal(shape).astype(np.float32)
    w.add_tensor(name + ".weight", 1 + 0.1 * x if len(shape) == 1 else (0.3 * x).astype(np.float16))
w.write_header_to_file(), w.write_kv_data_to_file(), w.write_tensors_to_file(), w.close()
