#!/usr/bin/env bash
# The layout sweep at length: of every operation up to 100 cases of each family (layouts; partial, differing and refused
# operands) on each mesh of up to three axes, by value, and again with padded dimensions; and the typed sample that ctest runs.
#   scripts/sweep.sh [--all] [--build DIR]
# 715,000 cases, 35 minutes after the build. --all: all cases, of some operations 70,000; hours. Prints the failures and tables of
# counts; the exit code is not 0 if anything failed.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  echo "usage: scripts/sweep.sh [--all] [--build DIR]" >&2
  exit 2
}
build=build/gcc cases=--many
while (($# > 0)); do
  case "$1" in
    --all) cases=--full ;;
    --build)
      (($# > 1)) || usage
      build="$2"
      shift
      ;;
    *) usage ;;
  esac
  shift
done

cmake --preset gcc -B "$build" >/dev/null
cmake --build "$build" --target sweep sweep-values >/dev/null
export OMP_NUM_THREADS=1 OMP_PROC_BIND=false
"$build/tests/sweep/sweep" "$cases" && "$build/tests/sweep/sweep-values" --padded "$cases"
