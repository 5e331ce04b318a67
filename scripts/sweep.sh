#!/usr/bin/env bash
# The full layout sweep: every layout of every operation on meshes of up to two axes and most of those on three, partial,
# differing and refused operands, by value, and again with padded dimensions; and the typed sample that ctest runs. Some minutes.
#   scripts/sweep.sh [--build DIR]
# Prints the failures and a table of counts; the exit code is not 0 if anything failed.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/gcc
case "${1-}" in
  "") ;;
  --build) build="$2" ;;
  *)
    echo "usage: scripts/sweep.sh [--build DIR]" >&2
    exit 2
    ;;
esac

cmake --preset gcc -B "$build" >/dev/null
cmake --build "$build" --target sweep sweep-values >/dev/null
export OMP_NUM_THREADS=1 OMP_PROC_BIND=false
"$build/tests/sweep/sweep" --full && "$build/tests/sweep/sweep-values" --padded --full
