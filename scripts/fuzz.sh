#!/usr/bin/env bash
# Random programs under random layouts, for as long as one likes: the test fuzz runs a few hundred, always the same.
#   scripts/fuzz.sh [--build DIR] [fuzz's own arguments]
#   scripts/fuzz.sh --seconds 36000 --seed 1000000
# What fails is shrunk and printed as C++. The exit code is not 0 if anything failed.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/gcc
if [[ "${1-}" == --build ]]; then
  build="$2"
  shift 2
fi
(($# > 0)) || set -- --seconds 3600

cmake --preset gcc -B "$build" >/dev/null
cmake --build "$build" --target fuzz >/dev/null
OMP_NUM_THREADS=1 OMP_PROC_BIND=false "$build/tests/fuzz/fuzz" --shrink "$@"
