#!/usr/bin/env bash
# The full layout sweep: every injective layout of every operation, and far more partial operands, differing and refused
# layouts than the sample that ctest runs. Compiled in slices, one program each, for the compiler's memory.
#   scripts/sweep.sh [--slices N] [--jobs N] [--build DIR]
# Prints the failures, then the cases and minutes; the exit code is not 0 if anything failed.
set -euo pipefail
cd "$(dirname "$0")/.."

slices=4
jobs="$(nproc)"
build=build/sweep
while (($# > 0)); do
  case "$1" in
    --slices) slices="$2" ;;
    --jobs) jobs="$2" ;;
    --build) build="$2" ;;
    *)
      echo "usage: scripts/sweep.sh [--slices N] [--jobs N] [--build DIR]" >&2
      exit 2
      ;;
  esac
  shift 2
done

total=0
failed=0
for ((slice = 0; slice < slices; ++slice)); do
  cmake --preset gcc -B "$build" -D MTF_SWEEP_SLICES="$slices" -D MTF_SWEEP_SLICE="$slice" >/dev/null
  cmake --build "$build" --target sweep --parallel "$jobs" >/dev/null
  result=0
  OMP_NUM_THREADS=1 OMP_PROC_BIND=false "$build/tests/sweep/sweep" >"$build/sweep-$slice.txt" || result=$?
  sed -n '/FAILED/p' "$build/sweep-$slice.txt"
  last="$(tail -n 1 "$build/sweep-$slice.txt")"
  echo "slice $slice: $last"
  ((result == 0)) || failed=1
  if ! grep -Eq ', [0-9]+ cases' <<<"$last"; then  # it ended before its summary
    echo "slice $slice: no summary, exit code $result: see $build/sweep-$slice.txt" >&2
    exit 1
  fi
  cases="$(sed -E 's/.*, ([0-9]+) cases.*/\1/' <<<"$last")"
  total=$((total + cases))
done
echo "$total cases in $slices slices, $((SECONDS / 60)) min $((SECONDS % 60)) s$( ((failed == 0)) || echo ', FAILED')"
exit "$failed"
