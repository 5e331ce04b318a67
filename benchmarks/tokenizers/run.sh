#!/usr/bin/env bash
# How fast is `prepare` beside tiktoken on one thread, and on two?
#   benchmarks/tokenizers/run.sh BUILD TEXT [VOCABULARY [ROUNDS]]   e.g. build/gcc build/kjv.txt
# Python with tiktoken is $PYTHON, or else python3. Trains a vocabulary on the text, and prints the best of the rounds,
# which alternate.
set -euo pipefail
build="$1" text="$2" vocabulary="${3:-32000}" rounds="${4:-5}"
here="$(dirname "$0")"
work="$(mktemp -d)"
trap 'rm -r "$work"' EXIT
prepare="$build/examples/prepare/prepare"
"$prepare" "$text" -o "$work/t.json" --train-bpe "$vocabulary"
for ((i = 0; i < rounds; ++i)); do
  for threads in 1 2; do
    "$prepare" "$text" -o "$work/$threads.bin" --tokenizer "$work/t.json" --threads "$threads" |
      sed 's/.* \([0-9.]*\) MB\/s/\1/' >>"$work/$threads.speeds"
  done
done
for threads in 1 2; do
  echo "prepare, $threads threads: $(sort -g "$work/$threads.speeds" | tail -1) MB/s, best of $rounds (all: $(sort -g "$work/$threads.speeds" | tr '\n' ' '))"
done
cmp "$work/1.bin" "$work/2.bin"
"${PYTHON:-python3}" "$here/tiktoken_speed.py" "$work/t.json" "$text" "$work/1.bin" "$rounds"
