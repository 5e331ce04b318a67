#!/usr/bin/env bash
# Fuzzes a reader of files with libFuzzer, with sanitizers (clang++-19 and libclang-rt-19-dev).
#   scripts/fuzz-files.sh [TARGET [SECONDS]]   TARGET: a file of tests/fuzz-files
#     (checkpoint, token_file, tokenizer); SECONDS: 1800
# What it finds stays in build/fuzz-files; a file that makes the reader fail is named at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${1:-checkpoint}"
work="build/fuzz-files/$target"
mkdir -p "$work/corpus" "$work/failures"
clang++-19 -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iinclude \
  "tests/fuzz-files/$target.cpp" -o "$work/fuzzer" -lisal -lpcre2-8
exec "$work/fuzzer" -max_total_time="${2:-1800}" -max_len=1500 -timeout=60 -artifact_prefix="$work/failures/" \
  -print_final_stats=1 "$work/corpus" "tests/fuzz-files/corpus/$target"
