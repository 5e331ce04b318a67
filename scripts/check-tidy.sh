#!/usr/bin/env bash
# clang-tidy 19 over the headers that need the core alone: the core's, the models', and of the tools those that do
# (.clang-tidy; misc-include-cleaner there is the include check: a header includes what it uses and nothing else). Each header
# is compiled alone.
#   scripts/check-tidy.sh          those that the day before the last commit changed
#   scripts/check-tidy.sh BASE     those that changed since the commit BASE
#   scripts/check-tidy.sh --all    all of them: some minutes
# Of more than 40 changed headers only the includes are checked. Outside of a git repository nothing is.
set -euo pipefail
cd "$(dirname "$0")/.."

checks=()
others='^tools/(train/(train|ranks_as_threads|optimizer_numbers)|writing/(cached_model|generator_of)|evaluate/evaluate|prepare/)'
if [[ "${1:-}" == --all ]]; then
  mapfile -t headers < <(find include models tools -name '*.hpp' | grep -vE "$others" | sort)
elif ! git rev-parse --git-dir >/dev/null 2>&1; then
  echo "no git repository: which headers changed is not known, none is checked"
  exit 0
else
  base="${1:-$(git rev-list -1 --before="$(($(git show -s --format=%ct HEAD) - 86400))" HEAD)}"
  base="${base:-$(git rev-list --max-parents=0 HEAD | tail -1)}"
  mapfile -t headers < <(git diff --name-only --diff-filter=d "$base" -- 'include/*.hpp' 'models/*.hpp' 'tools/*.hpp' | grep -vE "$others")
  ((${#headers[@]} <= 40)) || checks=("'--checks=-*,misc-include-cleaner'")
fi
echo "${#headers[@]} headers${checks[*]:+, their includes}"
((${#headers[@]} == 0)) && exit 0
# Standard error has only how many warnings of the system's headers were left out.
printf '%s\0' "${headers[@]}" | xargs -0 -P "$(nproc)" -n 8 sh -c \
  'clang-tidy-19 --quiet '"${checks[*]}"' "$@" -- -x c++-header -std=c++20 -Iinclude 2>/dev/null' sh
