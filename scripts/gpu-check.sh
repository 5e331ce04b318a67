#!/usr/bin/env bash
# What only a GPU can show, in one run of at most seven minutes: the tests of one rank, NCCL's, what cuDNN takes, a training
# step of ours beside PyTorch's from the same initial values, steps of larger models, two runs bit by bit, and kernels by time.
#   scripts/gpu-check.sh pack         where nvcc is: builds for sm_90 and packs programs and libraries into build/gpu-check
#   scripts/gpu-check.sh run [OUT]    where the GPU is, which needs neither a compiler nor a network: files into OUT,
#                                     by default build/gpu-check/out, and a table
# STAGES, by default "limits vendors tests steps models bits kernels", are those that run; MOST_SECONDS, 420, what they may
# take together: a stage that finds none left says so.
set -euo pipefail
cd "$(dirname "$0")/.."
packed=build/gpu-check

pack() {
  cmake --preset cuda -B build/gpu -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DMTF_BUILD_BENCHMARKS=ON
  cmake --build build/gpu --parallel "$(nproc)" --target mtf_local_tests \
    benchmark-train-step-gpt2-context benchmark-train-step-gpt2-context-bfloat16 benchmark-model-step-gpt2 \
    benchmark-model-step-llama cudnn-support nccl-one-rank
  rm -rf "$packed"
  mkdir -p "$packed/bin" "$packed/lib"
  find build/gpu/tests/local -maxdepth 1 -type f -executable -exec cp {} "$packed/bin" \;
  cp build/gpu/benchmarks/benchmark-train-step-gpt2-context{,-bfloat16} build/gpu/benchmarks/benchmark-model-step-{gpt2,llama} \
    build/gpu/tests/cudnn/cudnn-support build/gpu/tests/nccl/nccl-one-rank "$packed/bin"
  strip "$packed"/bin/*
  # Open MPI's libraries and what they need; CUDA's are there.
  local library
  for library in $(ldd "$packed"/bin/* | awk '/=> \//{print $3}' | sort -u); do
    case "$library" in
      /usr/local/cuda* | *libcuda* | *libcublas* | *libcudnn* | *libnvrtc* | *libnccl* | *libc.so* | *libm.so* | *libpthread* | *libdl* | *librt* | *ld-linux*) ;;
      *) cp -L "$library" "$packed/lib" ;;
    esac
  done
  cp -rL /usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3 "$packed/lib/openmpi"
  XZ_OPT=-9 tar -C "$packed" -cJf "$packed/programs.tar.xz" bin lib
  rm -rf "${packed:?}/bin" "${packed:?}/lib"
  ls -l "$packed"
  if (($(stat -c %s "$packed/programs.tar.xz") > 64 << 20)); then
    echo "larger than the 64 MiB that can be carried" >&2
    return 1
  fi
}

# in_time SECONDS NAME COMMAND...: its output into NAME.txt; says what it took, or that it failed. Never more than what is left.
in_time() {
  local most="$1" name="$2" begin="$SECONDS" result=0 left=$((${MOST_SECONDS:-420} - SECONDS))
  shift 2
  if ((left < 3)); then
    printf '%-26s %6s  left out: no time\n' "$name" "" | tee -a "$out/summary.txt"
    return
  fi
  if ((most > left)); then most="$left"; fi
  timeout "$most" "$@" >"$out/$name.txt" 2>&1 || result=$?
  printf '%-26s %4d s  %s\n' "$name" $((SECONDS - begin)) "$( ((result == 0)) && echo ok || echo "FAILED, $result")" |
    tee -a "$out/summary.txt"
}

limits() {
  in_time 10 versions sh -c 'nvidia-smi; nvcc --version; python3 -c "import torch; print(torch.__version__, torch.version.cuda)"'
  in_time 60 limits python3 - <<'PYTHON'
import time

import torch


def seconds(f, n):
    f()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(n):
        f()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / n


x, y = (torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(2))
print(f"copies {2 * x.numel() / seconds(lambda: y.copy_(x), 50) / 1e12:.2f} TB/s")
for dtype in torch.bfloat16, torch.float32:
    a, b = (torch.randn(8192, 8192, device="cuda").to(dtype) for _ in range(2))
    print(f"products of {dtype} {2 * 8192**3 / seconds(lambda: a @ b, 20) / 1e12:.0f} TFLOP/s")
PYTHON
}

tests() {
  # (Each as a process of its own: their cases run one after the other. Some read files of the checkout they were built in.)
  in_time 120 tests sh -c 'ls bin/local-* | grep -vE "attention$|functions|order$|positions|reference" | xargs -P 8 -I {} sh -c "timeout 100 ./with {} >{}.txt 2>&1 && echo {} ok || { echo {} FAILED; tail -n 20 {}.txt; exit 1; }"'
}

vendors() {
  in_time 30 cudnn ./with bin/cudnn-support "$here/tests/cudnn/hopper.json"
  in_time 60 nccl ./with bin/nccl-one-rank
}

ours() { in_time "$1" "$2" ./with "bin/benchmark-train-step-gpt2-context$3" "$4"; }
theirs() {
  in_time "$1" "$2" env PYTHONPATH="$here/benchmarks/peers" python3 "$here/benchmarks/peers/pytorch_step.py" /tmp/mtf-start \
    --device cuda --steps 9 "${@:3}"
}
steps() {
  in_time 60 start ./with bin/benchmark-train-step-gpt2-context-bfloat16 --start /tmp/mtf-start
  ours 60 ours-bfloat16-1 -bfloat16 9
  theirs 90 pytorch-bfloat16 --bfloat16
  ours 60 ours-bfloat16-2 -bfloat16 9
  in_time 60 ours-graphs ./with bin/benchmark-train-step-gpt2-context-bfloat16 --graphs 9
  ours 60 ours-fp32 "" 5
  theirs 90 pytorch-fp32
}

# On one card, with the loss in chunks: GPT-2 124M as above; GPT-2 1558M, 16 texts of 1024; Llama 1B (Llama 3.2's sizes), 8
# texts of 4096. Hopper's data sheet says 989 TFLOP/s.
models() {
  in_time 40 model-gpt2-124m ./with bin/benchmark-model-step-gpt2 \
    "layers:12;batch:8;sequence:1024;d_model:768;heads:12;vocab:50257;untied_output:0" 9 989
  in_time 60 model-gpt2-1558m ./with bin/benchmark-model-step-gpt2 \
    "layers:48;batch:16;sequence:1024;d_model:1600;heads:25;vocab:50257;untied_output:0" 5 989
  in_time 60 model-llama-1b ./with bin/benchmark-model-step-llama \
    "layers:16;batch:8;sequence:4096;d_model:2048;kv_heads:8;group:4;d_ff:8192;vocab:128256;untied_output:0" 5 989
}

bits() {
  in_time 60 bits sh -c './with bin/benchmark-train-step-gpt2-context-bfloat16 --start /tmp/mtf-a && ./with bin/benchmark-train-step-gpt2-context-bfloat16 --start /tmp/mtf-b && cmp /tmp/mtf-a /tmp/mtf-b && echo "two runs: the same losses to the bit"'
}

kernels() {
  local step
  for step in -bfloat16 ""; do
    in_time 50 "kernels$step" ncu --clock-control none --metrics gpu__time_duration.sum,dram__bytes.sum --csv \
      --launch-skip 2000 --launch-count 2500 ./with "bin/benchmark-train-step-gpt2-context$step" 1
  done
}

# number PATTERN FILE...: the number that follows it on the first line where one does; nothing, if none does.
number() { grep -ohE "$1 [0-9.]+" "${@:2}" 2>/dev/null | head -n 1 | grep -oE '[0-9.]+$' || true; }
# beside NAME FOUND MOST UNIT: a row of the table.
beside() {
  awk -v name="$1" -v found="${2:-}" -v most="$3" -v unit="$4" 'BEGIN {
    printf "%-44s %10s %10s %-14s %s\n", name, found == "" ? "-" : found, most, unit,
      found == "" ? "not measured" : found + 0 <= most + 0 ? "reached" : "MISSED" }'
}
# What is wanted (at most), and what was found.
table() {
  local theirs memory ours
  ours="$(number step "$out"/ours-fp32.txt)"
  # A peer's line: name, two losses, milliseconds, tokens a second; between tabs.
  theirs="$(awk -F '\t' 'NF == 5 { print $4; exit }' "$out/pytorch-fp32.txt" 2>/dev/null || true)"
  memory="$(number memory "$out"/ours-bfloat16-1.txt)"
  printf '%-44s %10s %10s\n' "" found "at most"
  beside "GPT-2 124M, bfloat16: a step" "$(number step "$out"/ours-bfloat16-1.txt)" 17.5 ms
  beside "the same once more" "$(number step "$out"/ours-bfloat16-2.txt)" 17.5 ms
  beside "the same with the loss in chunks" "$(number step "$out"/model-gpt2-124m.txt)" 17.5 ms
  beside "GPT-2 124M, fp32: a step beside PyTorch's" \
    "$(awk -v a="$ours" -v b="$theirs" 'BEGIN { if (a > 0 && b > 0) printf "%.3f", a / b }')" 1.03 times
  beside "GPT-2 124M, bfloat16: memory" "$(awk -v m="$memory" 'BEGIN { if (m > 0) printf "%.2f", m / 1000 }')" 4.3 GB
  beside "the same with the loss in chunks" "$(number memory "$out"/model-gpt2-124m.txt)" 4.3 GB
  local model
  for model in gpt2-124m gpt2-1558m llama-1b; do
    printf '%s: ' "$model"
    grep -hE '^step' "$out/model-$model.txt" 2>/dev/null | sed -E 's/; measured matrix.*//' || echo "not measured"
    grep -hE '^memory' "$out/model-$model.txt" 2>/dev/null || true
  done
  echo "attention that cuDNN takes:"
  cat "$out/cudnn.txt" 2>/dev/null || echo "not asked"
  # Which kernels ran: cuDNN's fused attention is called so in its kernels' names.
  echo "kernels of fused attention in the profiled step: $(grep -ciE 'sdpa|fmha|flash' "$out/kernels-bfloat16.txt" 2>/dev/null || true)"
  cat "$out/nccl.txt" 2>/dev/null || true
}

run() {
  SECONDS=0
  here="$PWD"
  out="$(realpath -m "${1:-$packed/out}")"
  mkdir -p "$out"
  rm -f "$out"/*.txt  # what a stage finds is this run's
  local work
  work="$(mktemp -d)"
  python3 -m tarfile -e "$packed/programs.tar.xz" "$work"
  # CUDA's libraries: those of the packages that PyTorch came with.
  local folders
  folders="$(python3 -c 'import glob, site; print(":".join(f for s in site.getsitepackages() for f in glob.glob(s + "/nvidia/*/lib")))')"
  export OMPI_MCA_mca_base_component_path="$work/lib/openmpi"
  # Not for python, which has libraries of its own.
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "$@"\n' "$work/lib:$folders:${LD_LIBRARY_PATH:-}" >"$work/with"
  chmod +x "$work/with"
  # (A rank alone would start a daemon of Open MPI's, which is not there.)
  export OMPI_MCA_ess_singleton_isolated=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  cd "$work"
  local stage
  for stage in ${STAGES:-limits vendors tests steps models bits kernels}; do "$stage"; done
  echo
  cat "$out/limits.txt" 2>/dev/null || true
  grep -H FAILED "$out/tests.txt" 2>/dev/null || true
  grep -hE '^(mesh|step|graphs|memory)|ms ' "$out"/ours-*.txt 2>/dev/null || true
  grep -hP '\t' "$out"/pytorch-*.txt 2>/dev/null || true
  echo
  table
  # A stage that failed is said by the exit code too; but where ncu may not read counters, that is no fault.
  awk '/FAILED/ && !/^kernels/ { failed = 1 } END { exit failed }' "$out/summary.txt"
}

case "${1:-}" in
  pack) pack ;;
  run) run "${2:-}" ;;
  *)
    echo "usage: scripts/gpu-check.sh pack | run [OUT]" >&2
    exit 2
    ;;
esac
