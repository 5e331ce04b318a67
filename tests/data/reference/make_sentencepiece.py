#!/usr/bin/env python3
"""Makes sentencepiece.gguf, sentencepiece-plain.gguf and sentencepiece.json beside it, once: vocabularies of
sentencepiece's BPE as llama.cpp's converter writes them (no tensors), and the ids that sentencepiece gives for texts of
every odd kind.

    pip install sentencepiece gguf
    python3 tests/data/reference/make_sentencepiece.py
    python3 tests/data/reference/make_sentencepiece.py MODEL OUT   # OUT.gguf and OUT.json of another model's vocabulary

In a text the names of special tokens are these tokens, and what is behind one is a text of its own, as llama.cpp has it;
sentencepiece alone would take them for letters. The plain one has no space before a text, and tokens of its user.
"""
import io
import json
import os
import random
import re
import sys

import gguf
import sentencepiece

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "..", "support", "english.txt"), encoding="utf-8") as f:
    english = f.read()
corpus = english.splitlines() + [
    "l'été, où ça naïve Straße", "Привет, как дела?", "日本語のテキスト。漢字かな", "emoji 😀👩‍👩‍👧‍👦🏳️‍🌈",
    "for (int i = 0; i < n; ++i) { x[i] += 1.5e-3; }", "1234567 3.14159 ٠١٢٣ ½ Ⅷ", "        x    y  z", "aaaaaaaaa abababab",
    "banana ananas"] * 20


def trained(**more):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_writer=model, model_type="bpe", vocab_size=700, byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.995,
        allow_whitespace_only_pieces=True, minloglevel=2, **more)
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def kind(sp, i):
    t = gguf.TokenType
    return (t.UNKNOWN if sp.IsUnknown(i) else t.CONTROL if sp.IsControl(i) else t.BYTE if sp.IsByte(i)
            else t.UNUSED if sp.IsUnused(i) else t.NORMAL)


def write(sp, path, space, of_user=()):
    """As convert_hf_to_gguf.py has it."""
    w = gguf.GGUFWriter(path, "llama")
    w.add_tokenizer_model("llama")
    w.add_tokenizer_pre("default")
    n = sp.GetPieceSize()
    w.add_token_list([sp.IdToPiece(i).replace("▁", " ") if i in of_user else sp.IdToPiece(i) for i in range(n)])
    w.add_token_scores([sp.GetScore(i) for i in range(n)])
    w.add_token_types([gguf.TokenType.USER_DEFINED if i in of_user else kind(sp, i) for i in range(n)])
    w.add_bos_token_id(sp.bos_id())
    w.add_eos_token_id(sp.eos_id())
    w.add_unk_token_id(sp.unk_id())
    w.add_add_bos_token(space)
    w.add_add_space_prefix(space)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.close()


def encoded(sp, text):
    special = {sp.IdToPiece(i): i for i in range(sp.GetPieceSize()) if sp.IsControl(i) or sp.IsUnknown(i)}
    ids = []
    for part in re.split("(" + "|".join(map(re.escape, sorted(special, key=len, reverse=True))) + ")", text):
        ids += [special[part]] if part in special else sp.Encode(part)
    return ids


random.seed(5)
texts = [
    "", " ", "  ", "a", " a", "a ", "Hello world", " Hello  world  ", "\n", "\n\n a\n", "a\tb\t\tc", "a\r\nb", "\u0000a\u0000",
    "l'été, où ça naïve Straße", "Привет, как дела?", "日本語のテキスト。漢字かな 龘", "नमस्ते ไทย שָׁלוֹם", "😀👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈",
    "e\u0301 a\u0308 é ſ K ﬁ ２", "▁", "▁▁a ▁", "a▁b", "aaaaaaaa", "aaaaaaaaaaaaaaaa aaa", "abababab", "banana ananas ananananana",
    "12345678901234567890", "3.14159e-10", "<s>", "</s>", "<unk>", "a<s>b", "<s> a</s> b <unk>c", "<0x41>", "<0x0A>", "<s", "s>",
    "\u00a0\u2003\u3000\u200b\ufeff", "𐍈\U0002a0b0\U0001f600\U0001f600", "a" * 200, " " * 65, "ab " * 40, "<start>a<start> b", "word\n\nword",
    "x  y   z    w", english[:700]]
parts = ["the", " the", "and ", "  ", " ", "\n", "\t", "a", "an", "na", "ing", "é", "漢", "😀", "▁", "<s>", "</s>", "1", "99", ".", ",", "'",
         "\u0301", "\u00a0", "ß", "я", "\u0000", "<start>"]
texts += ["".join(random.choice(parts) for _ in range(random.randrange(2, 14))) for _ in range(150)]
texts += ["".join(random.choice("an") for _ in range(random.randrange(2, 40))) for _ in range(40)]

if len(sys.argv) > 1:
    MODELS = {sys.argv[2]: sentencepiece.SentencePieceProcessor(model_file=sys.argv[1])}
    with open(sys.argv[1] + ".txt", encoding="utf-8") as f:  # more texts, in lines
        texts += f.read().split("\n")
    out = sys.argv[2] + ".json"
else:
    MODELS = {"sentencepiece": trained(), "sentencepiece-plain": trained(
        add_dummy_prefix=False, user_defined_symbols=["<start>", "\n\n", "▁▁▁"])}
    out = os.path.join(here, "sentencepiece.json")
found = {"texts": [t.encode().hex() for t in texts], "models": {}}
for name, sp in MODELS.items():
    space = sp.Encode("a") != sp.Encode("a", add_bos=False) or sp.IdToPiece(sp.Encode("a")[0]).startswith("▁")
    of_user = [i for i in range(sp.GetPieceSize()) if sp.GetScore(i) == 0 and kind(sp, i) == gguf.TokenType.NORMAL
               and sp.IdToPiece(i) in ("<start>", "\n\n", "▁▁▁")]
    write(sp, name + ".gguf" if len(sys.argv) > 1 else os.path.join(here, name + ".gguf"), space, of_user)
    found["models"][name] = {"ids": [encoded(sp, t) for t in texts], "bos": sp.bos_id(), "space": space}
with open(out, "w", encoding="utf-8") as f:
    json.dump(found, f, separators=(",", ":"))
    f.write("\n")
