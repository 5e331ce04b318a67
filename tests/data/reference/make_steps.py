#!/usr/bin/env python3
"""Makes steps.json beside it, once: the ids that Hugging Face's library gives where a tokenizer.json has normalizers,
pre-tokenizers, added tokens that take white space or are words of their own, byte fallback, unknown tokens, a unigram
model.

    pip install tokenizers
    python3 tests/data/reference/make_steps.py

A case is a tokenizer.json and what is changed in it, as RFC 7396 has it (a merge patch): that of this directory, or one of
two small ones that are trained here.
"""
import json
import os
import random

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

here = os.path.dirname(os.path.abspath(__file__))
random.seed(3)
corpus = [" ".join("".join(random.choice("abcdeéñ漢か") for _ in range(random.randrange(1, 7))) for _ in range(12))
          for _ in range(100)] + ["a word in the beginning, words. 12 345 (x) a-b"] * 20
BYTES = [f"<0x{b:02X}>" for b in range(256)]


def trained(model, trainer):
    t = Tokenizer(model)
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(corpus, trainer)
    j = json.loads(t.to_str())
    j.update(pre_tokenizer=None, added_tokens=[])
    return j


letters = trained(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), trainers.BpeTrainer(
    vocab_size=380, special_tokens=["<unk>", "<s>"] + BYTES, show_progress=False))
unigram = trained(models.Unigram(), trainers.UnigramTrainer(
    vocab_size=90, special_tokens=["<unk>", "<s>"], unk_token="<unk>", show_progress=False))
unigram["model"]["vocab"] = ([[t, round(s, 6)] for t, s in unigram["model"]["vocab"]] + [[b, 0.0] for b in BYTES])
unigram["model"]["byte_fallback"] = True
with open(os.path.join(here, "gpt2.json"), encoding="utf-8") as f:
    gpt2 = json.load(f)
BASES = {"letters": letters, "unigram": unigram, "gpt2": gpt2}


def patched(value, change):
    if not isinstance(change, dict):
        return change
    value = dict(value) if isinstance(value, dict) else {}
    for key, new in change.items():
        if new is None:
            value.pop(key, None)
        else:
            value[key] = patched(value.get(key), new)
    return value


def without(base, tokens):
    """What drops tokens of a vocabulary, and the merges that need them; others have their ids."""
    has = set(base["model"]["vocab"]) - set(tokens)
    merges = [m for m in base["model"]["merges"] if has.issuperset([*m, "".join(m)])]
    return {"vocab": {**{t: None for t in tokens}, **{f"unused {t}": base["model"]["vocab"][t] for t in tokens}},
            "merges": merges}


def sequence(kind, *parts):
    return {"type": "Sequence", kind: list(parts)}


def split(pattern, behavior, invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def metaspace(scheme, breaks=True):
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": breaks}


def byte_level(regex=True, space=False):
    return {"type": "ByteLevel", "add_prefix_space": space, "trim_offsets": True, "use_regex": regex}


def added(first):
    tokens = [("<mask>", "lstrip special"), ("<r>", "rstrip special"), ("<b>", "lstrip rstrip normalized special"),
              ("<|x|>", "special"), ("<|x", "special"), ("word", "single_word normalized"), ("wor", ""),
              ("né", "single_word"), ("a b", "normalized"), ("\t", ""), ("  ", "")]
    return [{"id": first + i, "content": t, **{f: f in flags.split() for f in (
        "single_word", "lstrip", "rstrip", "normalized", "special")}} for i, (t, flags) in enumerate(tokens)]


replaced = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
llama = {"normalizer": sequence("normalizers", {"type": "Prepend", "prepend": "▁"}, replaced)}
smollm = {"pre_tokenizer": sequence("pretokenizers", {"type": "Digits", "individual_digits": True}, byte_level())}
CASES = [
    ("llama 2", "letters", llama),
    ("llama 2, no bytes", "letters", {**llama, "model": {"byte_fallback": False}}),
    ("llama 2, no bytes, each unknown letter", "letters", {**llama, "model": {"byte_fallback": False, "fuse_unk": False}}),
    ("llama 2, some bytes", "letters", {**llama, "model": without(letters, ["<0xE0>", "<0xF0>", "<0x00>"])}),
    ("llama 2, some bytes, each unknown letter", "letters",
     {**llama, "model": {"fuse_unk": False, **without(letters, ["<0xE0>", "<0xF0>"])}}),
    ("nothing for the unknown", "letters", {**llama, "model": {"byte_fallback": False, "unk_token": None}}),
    ("gemma", "letters", {"normalizer": replaced, "pre_tokenizer": split(" ", "MergedWithPrevious", kind="String")}),
    ("mistral", "letters", {"pre_tokenizer": metaspace("first", False)}),
    ("whole words", "letters", {"pre_tokenizer": metaspace("always"), "model": {"ignore_merges": True}}),
    ("no space before", "letters", {"pre_tokenizer": metaspace("never")}),
    ("several", "letters", {"pre_tokenizer": sequence(
        "pretokenizers", {"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Contiguous"},
        metaspace("first"))}),
    ("smollm 2", "gpt2", {**smollm, "model": without(gpt2, ["Ą", "q", "Ã"])}),
    ("smollm 2, unknown", "gpt2",
     {**smollm, "model": {"unk_token": "<|endoftext|>", **without(gpt2, ["Ą", "q", "Ã"])}}),
    ("smollm 2, unknown in one", "gpt2",
     {**smollm, "model": {"unk_token": "<|endoftext|>", "fuse_unk": True, **without(gpt2, ["Ą", "q", "Ã"])}}),
    ("space before", "gpt2", {"pre_tokenizer": byte_level(space=True)}),
    ("space before each", "gpt2", {"pre_tokenizer": sequence(
        "pretokenizers", split("[0-9]", "Removed"), byte_level(space=True))}),
    ("splits", "gpt2", {"pre_tokenizer": sequence(
        "pretokenizers", split("a", "MergedWithPrevious", kind="String"), split("b+|e", "Removed"),
        split(".", "Isolated", kind="String"), split(r"\s+", "Contiguous", True), byte_level(False))}),
    ("digits by three", "gpt2", {"pre_tokenizer": sequence(
        "pretokenizers", split(r"(?=(\d{3})+(?!\d))", "Isolated"), byte_level())}),
    ("unigram", "unigram", {"pre_tokenizer": metaspace("always")}),
    ("unigram, no bytes", "unigram", {"pre_tokenizer": metaspace("always"), "model": {"byte_fallback": False}}),
    ("unigram, whole texts", "unigram", llama),
    ("unigram, first", "unigram", {"pre_tokenizer": metaspace("first", False)}),
    # Behind ByteLevel no word is one of these.
    ("tokens that spell no bytes", "gpt2", {"pre_tokenizer": byte_level(), "model": {"vocab": {
        t: len(gpt2["model"]["vocab"]) + i for i, t in enumerate([" ", "\n", "漢字", "<｜x▁y｜>"])}}}),
    ("tokens that spell no bytes, whole words", "gpt2", {"pre_tokenizer": byte_level(), "model": {
        "ignore_merges": True, "vocab": {t: len(gpt2["model"]["vocab"]) + i for i, t in enumerate(["漢字", "\t", "né"])}}}),
]

texts = ["", " ", "  ", "a", " a", "a ", "a word in words, sword word1 _word word\u0301 word\u200d word\u3000word", "né néa né\u0301 éné né.",
         "<mask>", " <mask> <mask>\u00a0<mask>x", "a \n\t<mask>b", "<r>  a", "<r> <r>\t<r>\u2003 b", "a <b> c", "  <b>   <b>  ", "<|x|><|x<|x|",
         "a b a  b a b", "\t\ta\t", "12345 6 1²Ⅷ٣ 1234567", "x.y..z a-b (c) «d» a+b", "q queue \u0004 \u00c0",
         "漢か漢字かな", "नमस्ते ไทย שָׁלוֹם", "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈", "a\r\nb\u00a0c\u2003d\u3000e\u0085f\u2028g", "e\u0301a\u0308 ſ K", "\u0000a\u0000\u0000", "▁a ▁ ▁▁", "aaaaaaaa bbbbbbb",
         "<unk><s><0x41>", "abe.b.e  bbe", "a" * 70, " " * 40, "𐍈\U0002a0b0é\u0e33\U0001f600\U0001f600\u0e33"]
parts = ["<mask>", "<r>", "<b>", "<|x|>", "word", "wor", "né", "a b", "  ", " ", "\t", "\n", "\u00a0", "\u200d", "\u0301", "1", "_", "é",
         "▁", "ab", "漢", "x", "-", "\u0ba9\u0bbf", "😀", "\u0000", "q"]
texts += ["".join(random.choice(parts) for _ in range(random.randrange(2, 12))) for _ in range(25)]

out = []
for name, base, change in CASES:
    for more in (False, True):
        change = dict(change, added_tokens=added(1000)[:11 if more else 0] + [
            {"id": 0, "content": "<|endoftext|>" if base == "gpt2" else "<unk>", "single_word": False, "lstrip": False,
             "rstrip": False, "normalized": False, "special": True}])
        # One that the model has is that; the others' ids follow.
        vocabulary = patched(BASES[base], change)["model"]["vocab"]
        known = dict(vocabulary) if isinstance(vocabulary, dict) else {t: i for i, (t, _) in enumerate(vocabulary)}
        for a in change["added_tokens"]:
            a["id"] = known.setdefault(a["content"], len(known))
        t = Tokenizer.from_str(json.dumps(patched(BASES[base], change)))
        assert all(t.token_to_id(a["content"]) == a["id"] for a in change["added_tokens"])
        out.append({"name": name, "base": base, "change": change,
                    "ids": [t.encode(x, add_special_tokens=False).ids for x in texts]})
with open(os.path.join(here, "steps.json"), "w", encoding="ascii") as f:
    json.dump({"letters": letters, "unigram": unigram, "texts": [t.encode().hex() for t in texts], "cases": out}, f,
              separators=(",", ":"))
