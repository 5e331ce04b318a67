#!/usr/bin/env bash
# All tests: the format, clang-tidy over what changed, g++ 12, clang++ 19, sanitizers (the tests of one rank, the ranks as
# threads), what needs an MPI once more with MPICH, and everything compiled for CUDA where nvcc is.
#   scripts/test.sh            all of it
#   scripts/test.sh --quick    g++ only, and of its tests those that need few programs
# Each preset is built beside the tests of the one before it. Stops at the first stage that fails, says which, and closes with the
# minutes that each stage took.
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
  summary+=("$(printf '%-18s %3d min %02d s  %s' "$name" $((seconds / 60)) $((seconds % 60)) "$verdict")")
  if ((result != 0)); then
    close
    exit 1
  fi
}

close() {
  echo
  echo "==== summary"
  printf '%s\n' "${summary[@]}"
  printf '%-18s %3d min %02d s\n' "all" $((SECONDS / 60)) $((SECONDS % 60))
}

# build_all PRESET...: configures and builds one after the other, in the background, at the lowest priority, so that they are
# built beside the tests of those before them. What is said goes to $logs/PRESET.log, the exit code and seconds to PRESET.done.
logs="$(mktemp -d)"
builder=""
build_all() {
  set +e
  local name begin result
  for name in "$@"; do
    begin="$SECONDS"
    { cmake --preset "$(configured "$name")" && cmake --build --preset "$name" --parallel "$jobs"; } >"$logs/$name.log" 2>&1
    result=$?
    echo "$result $((SECONDS - begin))" >"$logs/$name.part" && mv "$logs/$name.part" "$logs/$name.done"
    ((result == 0)) || break
  done
}
configured() { [[ "$1" == quick ]] && echo gcc || echo "$1"; }
built() {
  local result seconds
  until [[ -f "$logs/$1.done" ]]; do
    if ! kill -0 "$builder" 2>/dev/null && [[ ! -f "$logs/$1.done" ]]; then
      cat "$logs/$1.log" || true
      echo "what builds $1 was ended by somebody else"
      return 1
    fi
    sleep 1
  done
  read -r result seconds <"$logs/$1.done"
  if ((result == 0)); then tail -n 1 "$logs/$1.log"; else cat "$logs/$1.log"; fi
  echo "built in $((seconds / 60)) min $((seconds % 60)) s, tests beside it"
  return "$result"
}
leave() {
  [[ -z "$builder" ]] || kill -- "-$builder" 2>/dev/null || true
  rm -rf "$logs"
}
trap leave EXIT

# presets NAME...: builds and tests them.
presets() {
  local name
  set -m  # a process group of its own, to be ended as a whole
  (renice -n 19 "$BASHPID" >/dev/null && build_all "$@") &
  builder=$!
  set +m
  for name in "$@"; do
    stage "$name build" built "$name"
    stage "$name test" ctest --preset "$name"
  done
}

setup=(scripts/setup.sh)
$quick || setup+=(--browser)
stage "setup" "${setup[@]}"
stage "format" scripts/check-format.sh
if $quick; then
  presets quick
else
  stage "tidy" scripts/check-tidy.sh
  all=(gcc-tests clang-tests sanitize tsan mpich)
  if command -v nvcc >/dev/null || [[ -x /usr/local/cuda/bin/nvcc ]]; then
    all+=(cuda)
  else
    summary+=("cuda               skipped: no nvcc")
  fi
  presets "${all[@]}"
fi
close
