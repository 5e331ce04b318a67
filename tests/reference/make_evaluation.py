"""Writes evaluation/: texts, questions, and what `evaluate` should find in them.

python make_evaluation.py LETTERS    LETTERS: what `convert hugging_face/letters.gguf LETTERS` wrote

expected.json: for each run its flags, and the line of figures; of questions also the sums of log-probabilities.
Computed in float64 from the float32 parameters, by transformers and the formulas of

- https://huggingface.co/docs/transformers/perplexity, whose windows have the token behind those that are read too, each
  token counted once;
- lm-evaluation-harness 0.4: api/model.py (_encode_pair), models/huggingface.py (_loglikelihood_tokens), api/task.py
  (acc, acc_norm; of texts of ASCII, whose letters are bytes).
"""

import json
import math
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

HERE = pathlib.Path(__file__).parent
TO = HERE / "evaluation"
LETTERS = sys.argv[1]
TO.mkdir(exist_ok=True)
rng = random.Random(1)


def write(name, text):
    TO.joinpath(name).write_text(text)


# The bytes of these are tokens of the models with 61 of them.
digits = "".join(rng.choice("0123456789 +-*/.,\n") for _ in range(300))
write("digits.txt", digits)
write("short.txt", digits[:20])
write("letters.txt", "the 12 cats thought\nof their \"other\" hats, then of the <|im_end|> weather\n")


def numbers(n):
    return "".join(rng.choice("0123456789+-") for _ in range(n))


questions = [{"question": numbers(rng.randint(3, 12)), "choices": [numbers(rng.randint(1, 9)) for _ in range(4)], "answer": i % 4}
             for i in range(12)]
questions.append({"context": "3 1 4 \n", "choices": ["1 5", "9 2 6"], "answer": 0})  # its end is the choices' begin
questions.append({"context": "", "choices": ["27", "18"], "answer": 1})
questions.append({"question": numbers(60), "choices": [numbers(4), numbers(20), numbers(11)], "answer": 2})  # longer than 24
write("digits.jsonl", "".join(json.dumps(q) + "\n" for q in questions))
said = [{"question": "what of the hat", "choices": ["the cat", "them", "other"], "answer": 1},
        {"context": "th", "choices": [" cat", "se"], "answer": 0},  # behind an e: "the" is one token
        {"question": "<|im_start|>user\n", "choices": ["A", "BC"], "answer": 1}]
write("letters.jsonl", "".join(json.dumps(q) + "\n" for q in said))


class byte_words:
    def __call__(self, text):
        return list(text.encode())


class letters:
    def __init__(self):
        self.words = PreTrainedTokenizerFast(tokenizer_file=LETTERS + "/tokenizer.json")

    def __call__(self, text):
        return self.words(text)["input_ids"]


def perplexity(model, ids, context, stride, size):
    """The page's loop, of which the sums are weighted by what is counted."""
    max_length, seq_len = context + 1, len(ids)
    prev_end_loc, nll_sum, n_tokens = 0, 0.0, 0
    for begin_loc in range(0, seq_len, stride):
        end_loc = min(begin_loc + max_length, seq_len)
        trg_len = end_loc - prev_end_loc
        input_ids = torch.tensor([ids[begin_loc:end_loc]])
        target_ids = input_ids.clone()
        target_ids[:, :-trg_len] = -100
        with torch.no_grad():
            logits = model(input_ids[:, :-1]).logits  # what the model's own loss does, but for the last token, not read
            loss = F.cross_entropy(logits[0], target_ids[0, 1:], ignore_index=-100).item()
        counted = (target_ids[:, 1:] != -100).sum().item()
        nll_sum += loss * counted
        n_tokens += counted
        prev_end_loc = end_loc
        if end_loc == seq_len:
            break
    assert n_tokens == seq_len - 1
    each = nll_sum / n_tokens
    return {"tokens": n_tokens, "nats_per_token": each, "perplexity": math.exp(each), "bits_per_byte": nll_sum / math.log(2) / size}


def choices(model, encode, asked, context, delimiter, first):
    def sums(before, after):
        n_spaces = len(before) - len(before.rstrip())
        if n_spaces > 0:
            before, after = before[:-n_spaces], before[-n_spaces:] + after
        if before == "":
            start, rest = [first], encode(after)
        else:
            whole, start = encode(before + after), encode(before)
            rest = whole[len(start):]
        inp = torch.tensor((start + rest)[-(context + 1):][:-1])
        with torch.no_grad():
            logits = model(inp[None]).logits.log_softmax(-1)[0, -len(rest):]
        return logits.gather(1, torch.tensor(rest)[:, None]).sum().item()

    acc = acc_norm = 0
    logs = []
    for q in asked:
        lls = [sums(q.get("question", q.get("context")), delimiter + c) for c in q["choices"]]
        logs.append(lls)
        acc += lls.index(max(lls)) == q["answer"]
        normed = [ll / len(c) for ll, c in zip(lls, q["choices"])]
        acc_norm += normed.index(max(normed)) == q["answer"]
    return {"questions": len(asked), "acc": acc / len(asked), "acc_norm": acc_norm / len(asked)}, logs


runs = []
for name in ("gpt2", "gpt2-untied", "llama", "llama-tied", "letters"):
    path = LETTERS if name == "letters" else HERE / "hugging_face" / name
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).double().eval()
    encode = letters() if name == "letters" else byte_words()
    first = model.config.bos_token_id
    most = model.config.max_position_embeddings
    texts = (("letters.txt", None, None), ("letters.txt", 8, 3)) if name == "letters" else (
        ("digits.txt", None, None), ("digits.txt", 32, None), ("digits.txt", 32, 11), ("digits.txt", 71, 1), ("short.txt", 32, 11))
    for text, context, stride in texts:
        content = TO.joinpath(text).read_text()
        flags = ["--text", text] + (["--context", str(context)] if context else []) + (["--stride", str(stride)] if stride else [])
        context = context or most
        runs.append({"model": name, "flags": flags,
                     "found": perplexity(model, encode(content), context, stride or context, len(content.encode()))})
    asked = (("letters.jsonl", said, None, " "), ("letters.jsonl", said, None, "e")) if name == "letters" else (
        ("digits.jsonl", questions, None, " "), ("digits.jsonl", questions, 24, "-"))
    for file, of, context, delimiter in asked:
        flags = ["--choices", file] + (["--context", str(context)] if context else []) + ([] if delimiter == " " else ["--delimiter", delimiter])
        found, logs = choices(model, encode, of, context or most, delimiter, first)
        runs.append({"model": name, "flags": flags, "found": found, "log_probabilities": logs})
for r in runs:
    print(r["model"], *r["flags"], r["found"])
write("expected.json", json.dumps(runs, indent=None).replace("}, {\"model\"", "},\n{\"model\"") + "\n")
