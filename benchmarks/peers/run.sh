#!/usr/bin/env bash
# Peers' training steps beside ours, alternating: ROUNDS rounds (default 3) of a few steps each; prints all lines, then the
# best of each. Makes Python environments in build/peers and build/peers-tensorflow unless MTF_PEERS_VENV names another than
# the first (and that with -tensorflow behind it the second). THREADS: default 2.
#
#   run.sh BUILD [train-step|gpt2]     BUILD: the build tree with the benchmarks, such as build/gcc
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
(($# >= 1)) || { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"; exit 2; }
build="$1"
shape="${2-train-step}"
threads="${THREADS-2}"
rounds="${ROUNDS-3}"
venv="${MTF_PEERS_VENV-$here/../../build/peers}"

if [[ ! -x "$venv/bin/python" ]]; then
  python3 -m venv "$venv"
  # Where the index has no wheel for CPUs alone, the common one does: only larger.
  "$venv/bin/pip" install --quiet torch numpy
  "$venv/bin/pip" install --quiet jax || echo "no JAX: left out"
fi
# Mesh-TensorFlow's last release needs a TensorFlow whose NumPy the others are too new for.
if [[ ! -x "$venv-tensorflow/bin/python" ]]; then
  python3 -m venv "$venv-tensorflow"
  "$venv-tensorflow/bin/pip" install --quiet 'tensorflow-cpu<2.13' mesh-tensorflow || echo "no Mesh-TensorFlow: left out"
fi

ours="benchmark-train-step"
[[ "$shape" == train-step ]] || ours+="-$shape"
export OMP_NUM_THREADS="$threads" OMP_PROC_BIND=false
# XLA and TensorFlow take every processor that they may run on.
on=(taskset -c "0-$((threads - 1))")
lines="$(mktemp)"
trap 'rm -f "$lines"' EXIT

# Our own program's two lines as one of the peers' kind.
mtf() {
  "${on[@]}" "$build/benchmarks/$ours" 5 | sed -nE \
    "s/^step ([0-9.]+) ms .* ([0-9.]+) GFLOP\/s; sgemm peak ([0-9.]+) GFLOP\/s; share of peak ([0-9.]+)/mtf, $shape: \1 ms a step, \2 GFLOP\/s, sgemm \3 GFLOP\/s, share \4/p"
}
has() { "$1/bin/python" -c "import $2" 2> /dev/null; }
peer() { "${on[@]}" "$1/bin/python" "$here/$2" --shape "$shape" --steps 5 "${@:3}"; }

for ((round = 0; round < rounds; round++)); do
  mtf
  if has "$venv" torch; then
    peer "$venv" pytorch.py
    peer "$venv" pytorch.py --eager
  fi
  if has "$venv" jax; then peer "$venv" jax_step.py; fi
  if has "$venv-tensorflow" mesh_tensorflow; then peer "$venv-tensorflow" mesh_tensorflow_step.py; fi
done 2> >(grep -i 'error' >&2) | tee "$lines"

echo
printf '%-50s %9s %9s %9s %7s\n' "best of $rounds rounds, $threads threads" "ms" "GFLOP/s" "sgemm" "share"
sed -E 's/^(.*): ([0-9.]+) ms a step, ([0-9.]+) GFLOP\/s, sgemm ([0-9.]+) GFLOP\/s, share ([0-9.]+)$/\2\t\1\t\3\t\4\t\5/' "$lines" |
  sort -n | awk -F'\t' '!seen[$2]++ { printf "%-50s %9s %9s %9s %7s\n", $2, $1, $3, $4, $5 }'
