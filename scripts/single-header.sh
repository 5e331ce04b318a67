#!/usr/bin/env bash
# Makes one header of the core, <mtf/mtf.hpp> and all of mtf that it includes, for Compiler Explorer: paste it above a
# program, or include it by its address. Boost.Hana stays an include; no backend is part of it.
#   scripts/single-header.sh [FILE]   writes FILE, or else to standard output
set -euo pipefail
cd "$(dirname "$0")/.."

if (($# > 1)) || [[ "${1:-}" == -* ]]; then
  echo "usage: scripts/single-header.sh [FILE]" >&2
  exit 2
fi

version="$(sed -nE 's/^#define MTF_VERSION_[A-Z]+ +([0-9]+).*/\1/p' include/mtf/version.hpp | paste -sd.)"
commit="$(git rev-parse --short HEAD 2>/dev/null || echo "no commit")"

# First the standard's and Boost's headers, then each of ours after those that it includes. That is what the preprocessor
# would do as long as includes stand above all code and below no #if; the script refuses others.
text="$(awk -v root=include -v first=mtf/mtf.hpp '
  function add(header,    path, line, name, got, code, blank, text) {
    if (header in seen) return
    seen[header] = 1
    path = root "/" header
    while ((got = (getline line < path)) > 0) {
      if (line ~ /^[ \t]*#[ \t]*pragma[ \t]+once/) continue
      if (line ~ /^[ \t]*#[ \t]*include/) {
        if (line !~ /^#include <[^<>]+>/) fail(path ": not understood: " line)
        if (code) fail(path ": an include below code: " line)
        name = line
        sub(/^#include </, "", name)
        sub(/>.*/, "", name)
        if (name ~ /^mtf\//) {
          add(name)
        } else if (!(name in seen)) {
          seen[name] = 1
          others = others line "\n"
        }
      } else if (line ~ /^[ \t]*$/) {
        blank = 1
      } else {
        if (line !~ /^[ \t]*\/\//) code = 1
        text = text (blank && text != "" ? "\n" : "") line "\n"
        blank = 0
      }
    }
    if (got < 0) fail(path " cannot be read")
    close(path)
    ours = ours "\n// ---- " header "\n" text
  }
  function fail(why) {
    print "single-header: " why > "/dev/stderr"
    exit 1
  }
  BEGIN {
    add(first)
    printf "%s%s", others, ours
  }')"

print() {
  echo "// mtf $version ($commit), the core in one header. Made by scripts/single-header.sh. Needs C++20 and Boost.Hana."
  printf '#ifndef MTF_SINGLE_HEADER\n#define MTF_SINGLE_HEADER\n%s\n\n#endif\n' "$text"
}
if (($# == 0)); then
  print
else
  print >"$1"
fi
