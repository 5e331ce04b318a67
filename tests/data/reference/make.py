#!/usr/bin/env python3
"""Makes the files beside it, once: tokenizers as Hugging Face's library and sentencepiece write them, and the ids that
they give for texts of every odd kind.

    pip install tokenizers sentencepiece
    python3 tests/data/reference/make.py TEXT   # a text to train on: the King James Bible, as scripts/demo.sh has it

gpt2.json: GPT-2's pattern, trained by Hugging Face's library. gpt2/: the same as vocab.json and merges.txt.
llama3.json: Llama 3's pattern, whole words, added tokens. unigram.model: sentencepiece's. trained.json: what Hugging
Face's trainer finds in the texts. texts.json: the texts, as bytes
in hex, with each one's ids.
"""
import io
import json
import os
import random
import sys

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

here = os.path.dirname(os.path.abspath(__file__))
with open(sys.argv[1], encoding="utf-8") as f:
    corpus = f.read()[:1_000_000]
more = ["l'été, où ça naïve Straße", "Привет, как дела?", "日本語のテキスト。漢字かな", "emoji 😀👩‍👩‍👧‍👦🏳️‍🌈",
        "for (int i = 0; i < n; ++i) {\n\t\tx[i] += 1.5e-3;\n}\n", "1234567 3.14159 ٠١٢٣ ½ Ⅷ",
        # So that there are merges across what odd white space divides, and of tokens with themselves.
        "        x    y  z", "aaaaaaaaa", "ababab"] * 40
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def trained(pre, vocabulary, **model):
    t = Tokenizer(models.BPE(**model))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(corpus.splitlines() + more, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return t


gpt2 = trained(pre_tokenizers.ByteLevel(add_prefix_space=False), 700)
gpt2.save(os.path.join(here, "gpt2.json"), pretty=False)
os.makedirs(os.path.join(here, "gpt2"), exist_ok=True)
gpt2.model.save(os.path.join(here, "gpt2"))

llama3 = trained(pre_tokenizers.Sequence([
    pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), 600)
j = json.loads(llama3.to_str())
j["model"]["ignore_merges"] = True
j["model"]["vocab"]["ĠJerusalem"] = len(j["model"]["vocab"])  # a word that merges do not reach
llama3 = Tokenizer.from_str(json.dumps(j))
llama3.add_special_tokens(["<|begin|>", "<|begin|>er"])
llama3.add_tokens([AddedToken("LORD", normalized=True), AddedToken("<|be", normalized=False), "\t\t"])
llama3.save(os.path.join(here, "llama3.json"), pretty=False)

model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(corpus.splitlines()[:4000] + more), model_writer=model, vocab_size=400, byte_fallback=True,
    normalization_rule_name="identity", character_coverage=0.99, minloglevel=2)
with open(os.path.join(here, "unigram.model"), "wb") as f:
    f.write(model.getvalue())
unigram = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())

texts = [
    "", " ", "  ", "\n", "\r\n", "\t", "a", " a", "  a", "a ", "a  ", "a\n\nb", "a \n b", "\n\n  \n a",
    "In the beginning God created the heaven and the earth.",
    "don't I'll we've they're I'm he'd it's 'tis 'S 'LL 'Ve rock'n'roll ''s '", "DON'T I'LL Kelvin\u212a 'ſ",
    "<|endoftext|>", "a<|endoftext|>b", "<|endoftext|><|endoftext|>", "< |endoftext|>", "<|endoftext|", "<|begin|>er<|begin|>e",
    "the LORD LORDship\t\tx <|be", "Jerusalem Jerusalem  Jerusalem", "x" * 47, "x" * 48, "x" * 49, "the" * 200, "a" * 1000,
    " " * 100, " " * 1000 + "x", "\n" * 33, "ab" * 400, "\u00a0x\u2003y\u3000z\u180eq\u200bw\u2028e\u2029r\u0085t\u001cu\u000bv\u000cw\u1680x\u202fy\ufeffz",
    "  \u180e", "   \u180ex", "x  \u180e  y", "a" * 49, "a" * 50, "a" * 51, "ab" * 30 + "a", "aab" * 30, "  \u200bx",
    "1234567890 12 1,234.56 0x7f 1e-9 ٠١٢٣٤ ½¾ Ⅷ ² ① 一二三", "naïve café Ångström Straße ﬁ ŒUVRE e\u0301 \u0301a",
    "Привет мир! Ελλάδα שלום عربى हिन्दी ไทย 한국어 日本語、漢字。ｶﾀｶﾅ", "😀👩‍👩‍👧‍👦🏳️‍🌈🇩🇪 👍🏽", "\u0000\u0001\u007f\u0080\u00ff\ufffd\ufffe\uffff",
    "\U0001f600\U00010000\U0010ffff\ud7ff\ue000", "𝒜𝓁𝓅𝒽𝒶 𐍈 𠜎", "!!!???...---___***", "a_b c-d e/f g\\h \"q\" 'r' `s` {t} [u] <v>",
    "def f(x):\n    return x  # c\n\n\n\tif y:\r\n\t\tpass\r\n", "https://example.org/a?b=c&d=%20#e", "\u202eabc\u202c \u2066x\u2069",
    "\u0e01\u0e33 \u0b95\u0bcd\u0bb7 \u1100\u1161\u11a8", "ſ ſs 'ſ K's", "ab\u0300\u0301\u0302cd", "\r\r\n\n\r x\ry",
]
r = random.Random(1)
odd = "aZ09 \n\r\t'._-<|>é\u00a0\u3000日😀\u0301ß٣\u200d\ufeff"
texts += ["".join(r.choice(odd) for _ in range(r.randrange(1, 60))) for _ in range(120)]
texts += [corpus[i:i + 300] for i in range(1000, 1_000_000, 100_000)]

# A vocabulary of these texts, for the trainer: words of all kinds, many pairs that are equally frequent.
t = Tokenizer(models.BPE())
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=900, special_tokens=["<|endoftext|>"], show_progress=False,
                                                 initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
with open(os.path.join(here, "trained.json"), "w", encoding="ascii") as f:
    json.dump(json.loads(t.to_str())["model"], f, separators=(",", ":"))

with open(os.path.join(here, "texts.json"), "w", encoding="ascii") as f:
    rows = [{"text": t.encode("utf-8").hex(),
             "gpt2": gpt2.encode(t, add_special_tokens=False).ids,
             "llama3": llama3.encode(t, add_special_tokens=False).ids,
             "unigram": unigram.encode(t)} for t in texts]
    f.write("[" + ",\n".join(json.dumps(x, separators=(",", ":")) for x in rows) + "]\n")
