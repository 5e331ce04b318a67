#!/usr/bin/env bash
# Kills training runs with signal 9 at random moments, a rank or mpirun, and lets them go on from their checkpoints: each
# time the job ends within 10 seconds, and every loss of the run that was killed is the uninterrupted run's: bit for bit
# where the layout stays, to 1e-4 where each start takes another (1, 2 and 4 ranks, three layouts).
#   scripts/kill-test.sh [KILLS [DIR [WAY...]]]   so many each way (default 200); in DIR (default build/gcc) the example
#     is built; ways: 1 (two ranks), 2 (2 x 2), 3 (each start another); default all
# Some 3 seconds a kill. Prints a table; exits with 1 if anything differs, or a run fails otherwise.
set -euo pipefail
cd "$(dirname "$0")/.."
exec 3>&2 2>/dev/null  # where bash tells of each process that was killed

kills="${1:-200}"
[[ "$kills" =~ ^[0-9]+$ ]] || { echo "kill-test: '$kills' is no number of kills" >&3; exit 2; }
examples="${2:-build/gcc}/examples/transformer"
[[ -x "$examples/train-one" ]] || { echo "kill-test: no train-one in $examples: cmake --preset gcc && cmake --build --preset gcc" >&3; exit 2; }
ways=("${@:3}")
((${#ways[@]})) || ways=(1 2 3)
of_way=([1]=train-data-2 [2]=train-mesh-2x2 [3]="train-one train-data-2 train-mesh-2x2 train-tensor-2")
for way in "${ways[@]}"; do
  [[ "$way" == [123] ]] || { echo "kill-test: no way '$way': there are 1, 2 and 3" >&3; exit 2; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
steps=30
((EUID == 0)) && export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMP_NUM_THREADS=1 OMP_PROC_BIND=false
flags=()
case "$(mpirun --version 2>&1)" in *"Open MPI"* | *OpenRTE*) flags=(--oversubscribe --bind-to none) ;; esac
RANDOM="${MTF_KILL_SEED:-1}"

ranks_of() {
  case "$1" in
    train-one) echo 1 ;;
    train-mesh-2x2) echo 4 ;;
    *) echo 2 ;;
  esac
}
# start PROGRAM NAME: with a checkpoint directory and a log of that name; sets `launcher`.
start() {
  mpirun -n "$(ranks_of "$1")" "${flags[@]}" "$examples/$1" --data include/mtf/tensor/tensor.hpp --dropout 0.1 \
    --steps "$steps" --warmup 5 --eval-every 15 --sample 0 --checkpoint "$work/$2" --every 5 --resume \
    --log "$work/$2.jsonl" >"$work/$2.out" 2>&1 &
  launcher=$!
}
# The ranks of the job that `launcher` started.
ranks_now() { pgrep -f "^$examples/train-.* --checkpoint $work/" || true; }

# campaign NAME PROGRAM...: starts the programs in turns until there were enough kills; sets `finished`, `slowest` (ms),
# `writing` (kills while a checkpoint was written).
campaign() {
  local name="$1" killed=0 turn=0
  shift
  finished=0 slowest=0 writing=0
  while ((killed < kills)); do
    local program="${*:turn++ % $# + 1:1}"
    start "$program" "$name"
    # Up to the time of half a run: many are killed as they start, some finish.
    sleep "$(awk -v r=$RANDOM -v most="$longest" 'BEGIN { printf "%.3f", 0.2 + r / 32768 * most }')"
    local victims=($launcher $(ranks_now)) begin end
    if kill -0 "$launcher" 2>/dev/null; then
      compgen -G "$work/$name/*.writing" >/dev/null && writing=$((writing + 1))
      kill -9 "${victims[RANDOM % ${#victims[@]}]}" 2>/dev/null && killed=$((killed + 1))
      begin="$(date +%s%N)"
      while kill -0 "$launcher" 2>/dev/null || [[ -n "$(ranks_now)" ]]; do
        end=$((($(date +%s%N) - begin) / 1000000))
        if ((end > 10000)); then
          echo "kill-test: the job did not end within 10 s: $(ranks_now)" >&3
          pkill -9 -f "$work" || true
          exit 1
        fi
        sleep 0.02
      done
      end=$((($(date +%s%N) - begin) / 1000000))
      slowest=$((end > slowest ? end : slowest))
    fi
    if wait "$launcher" 2>/dev/null; then
      finish "$name"
    elif grep -qE '^mtf: |Process received signal' "$work/$name.out"; then  # an error, or a crash that is not ours
      cat "$work/$name.out" >&3
      exit 1
    fi
  done
  # What is left of the last run.
  until start "$1" "$name" && wait "$launcher"; do continue; done
  finish "$name"
}
# A run came to its end: are the losses those of the uninterrupted one?
finish() {
  "$examples/compare-logs" "$work/whole.jsonl" "$work/$1.jsonl" "$tolerance" >"$work/compared" ||
    { cat "$work/compared" >&3; exit 1; }
  finished=$((finished + 1))
  rm -rf "${work:?}/$1" "$work/$1.jsonl"
}

printf '%-34s %6s %9s %15s %12s\n' "started in turns" kills "runs" "while writing" "slowest end"
for way in "${ways[@]}"; do
  programs="${of_way[$way]}"
  read -ra each <<<"$programs"
  begin="$(date +%s%N)"
  start "${each[0]}" whole
  wait "$launcher" || { cat "$work/whole.out" >&3; exit 1; }
  longest="$(awk -v ns=$(($(date +%s%N) - begin)) 'BEGIN { print ns / 1e9 }')"
  rm -rf "$work/whole"
  tolerance=0
  ((${#each[@]} > 1)) && tolerance=1e-4
  campaign killed "${each[@]}"
  printf '%-34s %6d %9d %15d %9d ms\n' "${programs//train-/}" "$kills" "$finished" "$writing" "$slowest"
  rm -f "$work/whole.jsonl"
done
