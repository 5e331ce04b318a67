#!/usr/bin/env bash
# What only a GPU can show, in one run of at most seven minutes: the tests of one rank, a training step of ours beside
# PyTorch's from the same initial values, two runs bit by bit, and kernels by time.
#   scripts/gpu-check.sh pack         where nvcc is: builds for sm_90 and packs programs and libraries into build/gpu-check
#   scripts/gpu-check.sh run [OUT]    where the GPU is, which needs neither a compiler nor a network: files into OUT,
#                                     by default build/gpu-check/out, and a table
# STAGES, by default "limits tests steps bits kernels", are those that run.
set -euo pipefail
cd "$(dirname "$0")/.."
packed=build/gpu-check

pack() {
  cmake --preset cuda -B build/gpu -DCMAKE_CXX_FLAGS_RELEASE="-O2 -DNDEBUG" -DMTF_BUILD_BENCHMARKS=ON
  cmake --build build/gpu --parallel "$(nproc)" --target mtf_local_tests \
    benchmark-train-step-gpt2-context benchmark-train-step-gpt2-context-bfloat16
  rm -rf "$packed"
  mkdir -p "$packed/bin" "$packed/lib"
  find build/gpu/tests/local -maxdepth 1 -type f -executable -exec cp {} "$packed/bin" \;
  cp build/gpu/benchmarks/benchmark-train-step-gpt2-context{,-bfloat16} "$packed/bin"
  strip "$packed"/bin/*
  # Open MPI's libraries and what they need; CUDA's are there.
  local library
  for library in $(ldd "$packed"/bin/* | awk '/=> \//{print $3}' | sort -u); do
    case "$library" in
      *libcuda* | *libcublas* | *libcudnn* | *libnvrtc* | *libnccl* | *libc.so* | *libm.so* | *libpthread* | *libdl* | *librt* | *ld-linux*) ;;
      *) cp -L "$library" "$packed/lib" ;;
    esac
  done
  cp -rL /usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3 "$packed/lib/openmpi"
  tar -C "$packed" -cJf "$packed/programs.tar.xz" bin lib
  rm -rf "$packed/bin" "$packed/lib"
  ls -l "$packed"
}

# in_time SECONDS NAME COMMAND...: its output into NAME.txt; says what it took, or that it failed.
in_time() {
  local most="$1" name="$2" begin="$SECONDS" result=0
  shift 2
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

bits() {
  in_time 60 bits sh -c './with bin/benchmark-train-step-gpt2-context-bfloat16 --start /tmp/mtf-a && ./with bin/benchmark-train-step-gpt2-context-bfloat16 --start /tmp/mtf-b && cmp /tmp/mtf-a /tmp/mtf-b && echo "two runs: the same losses to the bit"'
}

kernels() {
  local step
  for step in "" -bfloat16; do
    in_time 100 "kernels$step" ncu --clock-control none --metrics gpu__time_duration.sum,dram__bytes.sum --csv \
      --launch-skip 2000 --launch-count 2500 ./with "bin/benchmark-train-step-gpt2-context$step" 1
  done
}

run() {
  here="$PWD"
  out="$(realpath -m "${1:-$packed/out}")"
  mkdir -p "$out"
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
  for stage in ${STAGES:-limits tests steps bits kernels}; do "$stage"; done
  echo
  cat "$out/limits.txt" 2>/dev/null || true
  grep -H FAILED "$out/tests.txt" 2>/dev/null || true
  grep -hE '^(mesh|step|graphs|memory)|ms ' "$out"/{ours,pytorch}-*.txt 2>/dev/null || true
}

case "${1:-}" in
  pack) pack ;;
  run) run "${2:-}" ;;
  *)
    echo "usage: scripts/gpu-check.sh pack | run [OUT]" >&2
    exit 2
    ;;
esac
