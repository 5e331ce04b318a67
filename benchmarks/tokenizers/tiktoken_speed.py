#!/usr/bin/env python3
"""tiktoken beside `prepare`: the same vocabulary, the same text, the same ids.

    tiktoken_speed.py TOKENIZER.json TEXT TOKENS.bin ROUNDS

TOKENS.bin is what prepare wrote; the ids must be equal. Prints the best of the rounds, in MB/s, on one thread. The text
is given in pieces of some 256 KiB, as prepare takes them: whole, it takes tiktoken longer."""
import json
import re
import sys
import time

import tiktoken

tokenizer, text_path, tokens_path, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
model = json.load(open(tokenizer, encoding="utf-8"))["model"]
letters = [b for b in range(256) if 32 < b < 127 or 160 < b != 173]
byte_of = {chr(b): b for b in letters}
byte_of.update({chr(256 + i): b for i, b in enumerate(b for b in range(256) if b not in letters)})
ranks = {bytes(byte_of[c] for c in token): i for token, i in model["vocab"].items() if token != "<|endoftext|>"}
gpt2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
encoding = tiktoken.Encoding("own", pat_str=gpt2, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 0})

text = open(text_path, encoding="utf-8", newline="").read()
pieces, at = [], 0
for m in re.finditer(r"(?<=[A-Za-z])\n", text):
    if m.start() - at > 1 << 18:
        pieces.append(text[at:m.start()])
        at = m.start()
pieces.append(text[at:])

best = None
for _ in range(rounds):
    begin = time.perf_counter()
    ids = [encoding.encode_ordinary(p) for p in pieces]
    seconds = time.perf_counter() - begin
    best = min(best or seconds, seconds)
size = len(text.encode("utf-8"))
print(f"tiktoken {tiktoken.__version__}: {size / best / 1e6:.1f} MB/s, best of {rounds}")

with open(tokens_path, "rb") as f:
    data = f.read()
width, count = int.from_bytes(data[12:16], "little"), int.from_bytes(data[16:24], "little")
own = memoryview(data)[64:64 + width * count].cast("H" if width == 2 else "I")
if own[:-1].tolist() != [i for p in ids for i in p]:
    sys.exit("the ids differ")
print(f"{count - 1} ids, all equal")
