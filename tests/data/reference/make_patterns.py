#!/usr/bin/env python3
"""Makes patterns.json beside it, once: how Hugging Face's library breaks texts by the patterns of models of today, and by
each construct that Oniguruma, its engine, reads otherwise than PCRE2; and which code points classes have.

    pip install tokenizers
    python3 tests/data/reference/make_patterns.py
"""
import json
import os
import random
import unicodedata

from tokenizers import Regex, pre_tokenizers

here = os.path.dirname(os.path.abspath(__file__))
CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}%s]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}%s]"
TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"


def gpt4o(but, slash):
    u, l = UPPER % but, LOWER % but
    return (rf"[^\r\n\p{{L}}\p{{N}}]?{u}*{l}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{u}+{l}*{CONTRACTIONS}?"
            rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n{slash}]*" + TAIL)


PATTERNS = {
    "llama 3": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL,
    "qwen 2": CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL,
    "gpt-4o": gpt4o("", "/"),
    "kimi k2": r"[\p{Han}]+|" + gpt4o(r"&&[^\p{Han}]", ""),
    "deepseek v3, numbers": r"\p{N}{1,3}",
    "deepseek v3, ideographs": "[一-龥぀-ゟ゠-ヿ]+",
    "deepseek v3, words": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                          r"| ?[\p{P}\p{S}]+[\r\n]*" + TAIL,
    "bloom": " ?[^(\\s|[.,!?…。，、।۔،])]+",
    "classes in classes": r"[a[bc]d]+|[^[0-5]6\s]+",
    "intersections": r"[a-z&&[^aeiou]]+|[\w&&[^\d_]&&\p{Lu}]|[^a-y&&[b-z]]x",
    "counts and then +": r"x{2}+|(?:ab){1,2}+c|[yz]{,2}",
    "lines": r"^[a-z]|[a-z]$|\d+\Z",
    "letters": r"\w+|\W",
    "borders": r"\b\w|\w\B",
    "posix": r"[[:word:]]+x|[[:digit:]_]+|[^[:space:][:^upper:]]",
    "hexadecimal": r"\h{2}|\H",
    "ends of lines": r"\R|\N+",
    "dots": r"(?m:a.b)|.",
    "digits by three": r"(?=(\d{3})+(?!\d))",
    "nothing, and then something": r"(?=[A-Z])|[xa]*|é?b??",
    "counts that are maybe": r"(?:a|b|x){2}?|z{1,2}??z",
    "options to the group's end": r"(?:x(?i)a|b)c|(?-i)d(?i)e|f",
    "case": r"(?i:k|'s|[x-z]|t[a-c\s]|é)|(?i)[^a-zé]",
    "letters by their codes": r"\x41+|\x{e9}|\u6f22+?|[\x30-\x39\u0041]",
    "hyphens": r"[\w-]|[+--]+|[a\-c]|[-_]|[[a]-c]",
    "more of posix": r"[[:alpha:]]+[[:punct:]]|[[:blank:]]+|[[:^ascii:]]{2}|[[:lower:][:cntrl:]]",
    "alphabetic": r"\P{Alphabetic}+|[\p{^Lowercase}]",
    "nothing twice": r"(?:a{2}){2}|b{1,2}{2}|x*+|\s++",
}
SETS = [r"\w", r"\d", r"\s", r"\h", ".", "[[:upper:]]", "[[:digit:]]",
        "[[:space:]]", "[[:word:]]", "[[:xdigit:]]", "[[:alpha:]]", "[[:lower:]]", "[[:punct:]]", "[[:blank:]]", "[[:cntrl:]]", "[[:ascii:]]",
        r"\P{Alphabetic}", r"[^\w]", r"[\S&&[^\d]]"]

random.seed(42)
assigned = [c for c in range(1, 0x110000)
            if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]
texts = ["It's WE'LL I'd 'ſ they'RE", "HTTPServer2000 naïveÉcole", "漢字とかな混じり文、カタカナ。한국어 漢字abc", "नमस्ते दुनिया। हिन्दी",
         "ไทยภาษา สวัสดี", "שָׁלוֹם עוֹלָם", "e\u0301a\u0308o\u0302\u0323", "😀👩‍👩‍👧‍👦🏳️‍🌈👍🏽 ok", "a\r\nb\r\n\r\nc\n\n  d", "a\u00a0b\u2003c\u3000d\u180ee\u2028f\u2029g\u0085h",
         "١٢٣ ४५६ ½ Ⅷ ² 1234567", "x xx xxx xxxx xxxxx ababc abc zzzy", "line\nline 12\n", "abc\n", "12", "_a_1_ B2_ ünder_", "12ag FFg 0x1f",
         "a.b a\nb a\rb", "/path/to//file\n\n/x", "", " ", "\n", "   \t  x", "aaaaaaaa bbbbbbb", "ⓐⅣ℮K\u212a\u2160", "。，、।۔،.,!?…(|)", "a-b^c]d[e\\f", "\u200d\u200c\ufeff"]
for n in range(40):
    texts.append("".join(chr(random.choice(assigned)) if random.random() < 0.5 else random.choice("aZ9 _'\n.-xé漢") for _ in range(30)))
texts = [t for t in texts if t]


def words(pattern, text):
    return [len(w.encode()) for w, _ in pre_tokenizers.Split(Regex(pattern), "isolated").pre_tokenize_str(text)]


def ranges(points):
    out = []
    for c in points:
        if out and out[-1][1] + 1 == c:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def members(pattern):
    rest = pre_tokenizers.Split(Regex(pattern), "removed").pre_tokenize_str("".join(map(chr, assigned)))
    left = set()
    for _, (a, b) in rest:
        left.update(range(a, b))
    return ranges([c for i, c in enumerate(assigned) if i not in left])


json.dump({"texts": [t.encode().hex() for t in texts],
           "patterns": [{"name": n, "pattern": p, "words": [words(p, t) for t in texts]} for n, p in PATTERNS.items()],
           "assigned": ranges(assigned), "sets": [{"pattern": p, "points": members(p)} for p in SETS]},
          open(os.path.join(here, "patterns.json"), "w"), separators=(",", ":"))
