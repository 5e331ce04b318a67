#!/usr/bin/env bash
# scripts/slurm/train.sbatch against a stand-in: a run that is warned before the limit, preempted, and loses its node ends
# where the uninterrupted one does, bit for bit.
#   tests/slurm/slurm_test.sh DIR   DIR: where the example's programs are
set -euo pipefail
programs="$(cd "$1" && pwd)"
root="$(cd "$(dirname "$0")/../.." && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for name in sbatch srun scontrol; do ln -s "$root/tests/slurm/stand_in.sh" "$work/bin/$name"; done

export PATH="$work/bin:$PATH" OMP_NUM_THREADS=1 OMP_PROC_BIND=false
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export STAND_IN_DIR="$work" STAND_IN_LOG="$work/run.jsonl" STAND_IN_MPI_FLAGS=""
case "$(mpirun --version 2>&1)" in *"Open MPI"* | *OpenRTE*) STAND_IN_MPI_FLAGS="--oversubscribe --bind-to none" ;; esac
export STAND_IN_EVENTS="warned:6 preempted:16 lost:30"

train=("$programs/train-data-2" --data "$root/include/mtf/tensor/tensor.hpp" --dropout 0.1 --steps 60 --warmup 5
  --eval-every 20 --sample 0)
mpirun -n 2 $STAND_IN_MPI_FLAGS "${train[@]}" --log "$work/whole.jsonl" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
sbatch --ntasks=2 --time=1:00:00 "$root/scripts/slurm/train.sbatch" "${train[@]}" --checkpoint "$work/run" --every 10 \
  --log "$work/run.jsonl" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }

# 137: killed by signal 9. After `warned` and `preempted` scontrol's own 0, which the script became.
expected=$'start 0, warned:6: 0\nstart 1, preempted:16: 0\nstart 2, lost:30: 137\nstart 3, : 0'
if [[ "$(cat "$work/starts")" != "$expected" ]]; then
  cat "$work/out" "$work/starts"
  exit 1
fi
[[ "$(grep -c 'train.sbatch: job 17 goes on later' "$work/out")" == 2 ]]
"$programs/compare-logs" "$work/whole.jsonl" "$work/run.jsonl" 0
