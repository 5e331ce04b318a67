#!/usr/bin/env bash
# Makes the API reference from the headers' comments, with Doxygen, and fails if a public name has no docstring: it prints
# file, line and name. scripts/api-undocumented.awk says which names need none.
#   scripts/api-reference.sh [DIR]   HTML, in build/api-reference or in DIR
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# > 1)) || [[ "${1:-}" == -* ]]; then
  echo "usage: scripts/api-reference.sh [DIR]" >&2
  exit 2
fi
dir="${1:-build/api-reference}"

if ! command -v doxygen >/dev/null; then
  echo "api-reference: no doxygen here; scripts/setup.sh installs it" >&2
  exit 77  # ctest: skipped
fi
rm -rf "$dir"
mkdir -p "$dir"
{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = \"$dir\""; } | doxygen -

undocumented="$(awk -f scripts/api-undocumented.awk "$dir"/xml/*.xml | sort -V)"
rm -rf "$dir/xml"
if [[ -n "$undocumented" ]]; then
  echo "api-reference: public names without a comment directly above them:" >&2
  echo "$undocumented" >&2
  exit 1
fi
echo "api-reference: $dir/index.html; every public name has a docstring"
