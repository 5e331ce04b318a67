#!/usr/bin/env bash
# Trains a small Transformer on the King James Bible, on two ranks that share each batch, and lets it write.
#   scripts/demo.sh [train's options, such as --steps 1000]
#   scripts/demo.sh --resume --steps 2000   goes on from the last run's checkpoint
# A few minutes, after the build.
set -euo pipefail
cd "$(dirname "$0")/.."

ranks=2
build=build/gcc
text=build/kjv.txt

scripts/setup.sh
mkdir -p build
cmake --preset gcc >build/demo-configure.log || { cat build/demo-configure.log; exit 1; }
cmake --build "$build" --target train-data-2 --parallel "$(nproc)"

# One verse a line, without its number.
if [[ ! -s "$text" ]]; then
  bible -f gen1:1-rev22:21 | sed 's/^[^ ]* //' >"$text"
fi

# Open MPI otherwise refuses to start for root.
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
threads=$(($(nproc) / ranks))
export OMP_NUM_THREADS=$((threads > 0 ? threads : 1)) OMP_PROC_BIND=false

# More ranks than cores are welcome; other MPIs than Open MPI need not be told.
flags=()
case "$(mpirun --version 2>&1)" in *"Open MPI"* | *OpenRTE*) flags=(--oversubscribe --bind-to none) ;; esac

checkpoints=build/demo-checkpoints report=build/demo.html
[[ " $* " == *" --resume "* ]] || rm -rf "$checkpoints"
code=0
mpirun -n "$ranks" "${flags[@]}" "$build/examples/transformer/train-data-2" \
  --data "$text" --steps 1000 --log build/demo.jsonl --report "$report" --sample 400 --checkpoint "$checkpoints" "$@" || code=$?
((code == 0 || code == 75)) || exit "$code"  # 75: a signal stopped it, after a checkpoint
echo "The checkpoints are in $checkpoints. To go on: scripts/demo.sh --resume --steps 2000"
echo "The report is $report: losses, speed and where the time went, for any browser."
exit "$code"
