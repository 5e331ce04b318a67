#!/usr/bin/env bash
# Peers' training steps beside ours: the same initial values and the same batch for all (build/peers-start), as our own
# programs write them. Ours and a peer alternate, ROUNDS times (default 3), each time a median of STEPS steps (default 5); then
# one table. A peer whose first two losses are not ours ends the run, before any of its times. THREADS: default 2.
# Makes what peers need in build/peers, build/peers-tensorflow (Python environments) and build/peers-llm.c (a checkout), or
# beside MTF_PEERS_VENV, the path of the first.
#
#   run.sh BUILD [SHAPE|PEER]...    BUILD: the build tree with the benchmarks, such as build/gcc
#
# shapes: train-step gpt2, and in mixed precision train-step-bfloat16 gpt2-bfloat16 (PyTorch alone); peers: pytorch
# pytorch-eager jax mesh-tensorflow llm.c (of gpt2 alone); all where none is named
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
usage() { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"; exit 2; }
(($# >= 1)) || usage
build="$(cd "$1/benchmarks" && pwd)"
threads="${THREADS-2}"
rounds="${ROUNDS-3}"
steps="${STEPS-5}"
venv="${MTF_PEERS_VENV-$here/../../build/peers}"
shapes=() peers=()
for word in "${@:2}"; do
  case "$word" in
    train-step | gpt2 | train-step-bfloat16 | gpt2-bfloat16) shapes+=("$word") ;;
    pytorch | pytorch-eager | jax | mesh-tensorflow | llm.c) peers+=("$word") ;;
    *) usage ;;
  esac
done
((${#shapes[@]})) || shapes=(train-step gpt2 train-step-bfloat16 gpt2-bfloat16)
((${#peers[@]})) || peers=(pytorch pytorch-eager jax mesh-tensorflow llm.c)

# need VENV MODULE PACKAGE...: a Python environment that has the module.
need() {
  [[ -x "$1/bin/python" ]] || python3 -m venv "$1"
  "$1/bin/python" -c "import $2" 2> /dev/null || "$1/bin/pip" install --quiet "${@:3}"
}
need "$venv" numpy numpy
for peer in "${peers[@]}"; do
  case "$peer" in
    # Where the index has no wheel for CPUs alone, the common one does: only larger.
    pytorch*) need "$venv" torch torch ;;
    jax) need "$venv" jax jax ;;
    # Mesh-TensorFlow's last release needs a TensorFlow whose NumPy the others are too new for.
    mesh-tensorflow) need "$venv-tensorflow" mesh_tensorflow 'tensorflow-cpu<2.13' mesh-tensorflow ;;
    llm.c)
      [[ -d "$venv-llm.c" ]] || git clone --quiet https://github.com/karpathy/llm.c "$venv-llm.c"
      [[ -x "$venv-llm.c/train_gpt2" ]] || make -C "$venv-llm.c" train_gpt2 CC=gcc > /dev/null ;;
  esac
done

export OMP_NUM_THREADS="$threads" OMP_PROC_BIND=false TF_CPP_MIN_LOG_LEVEL=3
# XLA and TensorFlow take every processor that they may run on.
on=(taskset -c "0-$((threads - 1))")
declare -A ours=([train-step]="$build/benchmark-train-step" [gpt2]="$build/benchmark-train-step-gpt2"
  [train-step-bfloat16]="$build/benchmark-train-step-bfloat16" [gpt2-bfloat16]="$build/benchmark-train-step-gpt2-bfloat16")
starts="$here/../../build/peers-start"
log="$(mktemp)" lines="$(mktemp)"
trap 'rm -f "$log" "$lines"' EXIT

# Our own program's first two lines as one of the peers' kind.
mtf() {
  "${on[@]}" "${ours[$shape]}" "$steps" | sed -nE \
    '1{N; s/.*first losses ([0-9.]+) ([0-9.]+),.*\nstep ([0-9.]+) ms .* ([0-9]+) tokens.*/mtf\t\1\t\2\t\3\t\4/p}'
}
step() {
  local narrow=()
  [[ "$shape" != *-bfloat16 ]] || narrow=(--bfloat16)
  "${on[@]}" "$1/bin/python" "$here/$2" "$starts/$shape" --steps "$steps" "${narrow[@]}" "${@:3}"
}
peer() {
  case "$1" in
    mtf) mtf ;;
    pytorch) step "$venv" pytorch_step.py ;;
    pytorch-eager) step "$venv" pytorch_step.py --eager ;;
    jax) step "$venv" jax_step.py ;;
    mesh-tensorflow) step "$venv-tensorflow" mesh_tensorflow_step.py ;;
    llm.c) step "$venv" llmc_step.py --program "$venv-llm.c/train_gpt2" ;;
  esac
}
# Adds a line of SYSTEM to the lines, or ends the run with what it said.
add() {
  local line
  line="$(peer "$1" 2> "$log")" || { cat "$log" >&2; exit 1; }
  printf '%s\t%s\n' "$shape" "$line" | tee -a "$lines" >&2
}

mkdir -p "$starts"
for shape in "${shapes[@]}"; do "${on[@]}" "${ours[$shape]}" --start "$starts/$shape" 2> "$log" || { cat "$log" >&2; exit 1; }; done
for ((round = 0; round < rounds; round++)); do
  for shape in "${shapes[@]}"; do
    for system in "${peers[@]}"; do
      [[ "$system" != llm.c || "$shape" == gpt2 ]] || continue
      [[ "$system" == pytorch* || "$shape" != *-bfloat16 ]] || continue
      add mtf
      add "$system"
    done
  done
done
printf '\n%s threads, medians of %s rounds of %s steps\n\n' "$threads" "$rounds" "$steps"
"$venv/bin/python" "$here/table.py" < "$lines"
