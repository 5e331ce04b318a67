#!/usr/bin/env bash
# Fails where code is not as clang-format 19 writes it (.clang-format); --fix corrects it. Not the refused programs: their
# tests name lines.
set -euo pipefail
cd "$(dirname "$0")/.."

how=(--dry-run -Werror)
case "${1:-}" in
  "") ;;
  --fix) how=(-i) ;;
  *)
    echo "usage: scripts/check-format.sh [--fix]" >&2
    exit 2
    ;;
esac
find include backends models tools examples tests benchmarks \( -name '*.hpp' -o -name '*.cpp' \) -not -path 'tests/refused/*' -print0 | xargs -0 -P "$(nproc)" -n 32 clang-format-19 "${how[@]}"
