#!/usr/bin/env bash
# Rewrites what the compilers say in docs/errors.md: below each line "From [tests/refused/FAMILY/X.cpp]..." the blocks that follow
# "GCC 12:" and "Clang 19:" become the words of g++-12 and clang++-19 for that program, without paths and lines of context.
#   scripts/update-errors.sh           rewrites the page
#   scripts/update-errors.sh --check   fails if that would change it
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/errors.md

# words COMPILER CASE FAMILY: the verdict, the place in the program, the sentence.
# Without GCC's count of all autos, which any header changes. Fails if there are none.
words() (
  set +o pipefail  # the compiler itself is to fail
  LC_ALL=C "$1" -std=c++20 -fsyntax-only -Itests/refused -Iinclude -Ibackends/threads/include "tests/refused/$3/$2.cpp" 2>&1 |
    sed -E -e "s/‘|’/'/g" -e 's/\bauto:[0-9]+/auto/g' -e 's#(^|[ (])[^ ]*/(mtf/detail/|mtf/|refused/)#\1\2#g' -e 's#^(mtf|refused/[a-z]+)/##' \
      -e 's#^[./]*([a-z_/]+\.hpp):[0-9]+:[0-9]+: #\1: #' \
      -e "/function template specialization|template class 'mtf::tensor/s#'(mtf::[a-z_]+[^a-z_<(]*)[<(].*' requested#'\1<...>' requested#" |
    grep -E "In instantiation of 'struct mtf::detail::require<|error: |^$2\.cpp:[0-9:]+ +required from here|in instantiation of template class 'mtf::detail::require<|^$2\.cpp:[0-9:]+ note: in instantiation|^$2\.cpp:[0-9:]+ note: while checking|note: non-constexpr function"
)

new="$(mktemp)"
trap 'rm -f "$new"' EXIT
name="" family="" compiler="" skip=false
while IFS= read -r line || [[ -n "$line" ]]; do
  if [[ "$line" =~ ^From\ \[tests/refused/([a-z]+)/([a-z_0-9]+)\.cpp\] ]]; then family="${BASH_REMATCH[1]}" name="${BASH_REMATCH[2]}"; fi
  case "$line" in
    "GCC 12:") compiler=g++-12 ;;
    "Clang 19:") compiler=clang++-19 ;;
  esac
  if $skip; then
    [[ "$line" != '```' ]] && continue
    skip=false
  fi
  printf '%s\n' "$line" >>"$new"
  if [[ "$line" == '```text' && -n "$compiler" && -n "$name" ]]; then
    words "$compiler" "$name" "$family" >>"$new" || {
      echo "update-errors: $compiler does not refuse tests/refused/$family/$name.cpp, or is not there" >&2
      exit 1
    }
    skip=true compiler=""
  fi
done <"$page"

if [[ "${1:-}" == --check ]]; then
  diff -u "$page" "$new" || {
    echo "docs/errors.md is not what the compilers say: run scripts/update-errors.sh" >&2
    exit 1
  }
else
  cat "$new" >"$page"
fi
