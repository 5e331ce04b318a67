#!/usr/bin/env bash
# All tests: the format, clang-tidy over what changed, g++ 12, clang++ 19, sanitizers (the tests of one rank, the ranks as
# threads), what needs an MPI once more with MPICH, and everything compiled for CUDA where nvcc is.
#   scripts/test.sh            all of it
#   scripts/test.sh --quick    g++ only, and of its tests those that need few programs
# Stops at the first stage that fails, says which, and closes with the minutes that each stage took.
set -euo pipefail
cd "$(dirname "$0")/.."

quick=false
case "${1:-}" in
  "") ;;
  --quick) quick=true ;;
  *)
    echo "usage: scripts/test.sh [--quick]" >&2
    exit 2
    ;;
esac

jobs="$(nproc)"
summary=()

# stage NAME COMMAND...
stage() {
  local name="$1" begin="$SECONDS" result=0
  shift
  echo
  echo "==== $name: $*"
  "$@" || result=$?
  local seconds=$((SECONDS - begin)) verdict="ok"
  ((result == 0)) || verdict="FAILED, exit code $result"
  summary+=("$(printf '%-16s %3d min %02d s  %s' "$name" $((seconds / 60)) $((seconds % 60)) "$verdict")")
  if ((result != 0)); then
    close
    exit 1
  fi
}

close() {
  echo
  echo "==== summary"
  printf '%s\n' "${summary[@]}"
  printf '%-16s %3d min %02d s\n' "all" $((SECONDS / 60)) $((SECONDS % 60))
}

# preset NAME [CONFIGURED]: configures, builds and tests one preset.
preset() {
  stage "$1 configure" cmake --preset "${2:-$1}"
  stage "$1 build" cmake --build --preset "$1" --parallel "$jobs"
  stage "$1 test" ctest --preset "$1"
}

setup=(scripts/setup.sh)
$quick || setup+=(--browser)
stage "setup" "${setup[@]}"
stage "format" scripts/check-format.sh
if $quick; then
  preset quick gcc
else
  stage "tidy" scripts/check-tidy.sh
  preset gcc-tests
  preset clang-tests
  preset sanitize
  preset tsan
  preset mpich
  if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; then
    preset cuda
  else
    summary+=("cuda             skipped: no nvcc")
  fi
fi
close
