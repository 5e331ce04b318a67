#!/usr/bin/env bash
# What it costs to compile mtf: seconds of the processor's time and peak memory, the ratio to the time of reference.cpp,
# which is about the same on every machine, and the MiB that the compiler allocates (GCC's -ftime-report), which are the
# same in every run: they grow with what is parsed, instantiated and evaluated, so they are what the test compares.
#
#   measure.sh COMPILER FLAG...            all figures, medians of three, beside recorded.txt
#   measure.sh --record COMPILER FLAG...   the same; and recorded.txt is written anew
#   measure.sh --check COMPILER FLAG...    fails if the MiB allocated for one of a few figures have grown by more than a
#                                          tenth
#
# FLAGs: where Kokkos, MPI, oneDNN and Random123 are, and -fopenmp if Kokkos has OpenMP. The targets `compile-time` and
# `compile-time-record` and the test compile-time pass them.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
recorded="$here/recorded.txt"

mode=print
case "${1-}" in --check | --record) mode="${1#--}" && shift ;; esac
(($# > 0)) || { sed -n '2,/^set/{/^#/s/^# \?//p}' "$0"; exit 2; }
compiler=("$1" -std=c++20 -O2 -w)
others=()
for flag in "${@:2}"; do  # given explicitly, /usr/include hides the C++ library's own headers from #include_next
  [[ "$flag" =~ ^-(I|isystem)/usr/include/?$ ]] || others+=("$flag")
done
core=("-I$root/include")
both=("${core[@]}" "-I$root/backends/kokkos/include" "-I$root/backends/mpi/include" "${others[@]}")
# Checkpoints' code is compiled once for all programs: what is measured is mtf's, not nlohmann-json's.
train=("${both[@]}" "-I$here" -DMTF_CHECKPOINT_COMPILED)

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
includes() { printf '#include <%s>\n' "${@:2}" > "$work/$1.cpp"; }
: > "$work/empty.cpp"
includes core mtf/mtf.hpp
includes others Kokkos_Core.hpp mpi.h
includes both mtf/mtf.hpp mtf/kokkos.hpp mtf/mpi.hpp
cat > "$work/train.cpp" << END
#include "$root/tools/train/train.hpp"
#include "$root/models/gpt2/task.hpp"
#include "layers.hpp"

using program = mtf::tools::under_layout<mtf::gpt2::task<config>, "data:2;model:2",
                                         "batch:data;heads:model;d_ff:model;vocab:model">;
int main(int argc, char** argv) { return mtf::tools::train<program>(argc, argv); }
END

# compile NAME: "seconds kilobytes allocated-MiB". A name is one that recorded.txt uses.
compile() {
  local what=(-c -o "$work/out.o") succeeds=true
  case "$1" in
    reference) what+=("$here/reference.cpp") ;;
    empty) what+=("$work/empty.cpp") ;;
    core) what+=("${core[@]}" "$work/core.cpp") ;;
    kokkos-and-mpi) what+=("${others[@]}" "$work/others.cpp") ;;
    core-and-backends) what+=("${both[@]}" "$work/both.cpp") ;;
    train-6) what+=("${train[@]}" -DLAYERS=6 "$work/train.cpp") ;;
    train-48) what+=("${train[@]}" -DLAYERS=48 "$work/train.cpp") ;;
    checked-train-6) what=(-fsyntax-only "${train[@]}" -DLAYERS=6 "$work/train.cpp") ;;
    checked-train-48) what=(-fsyntax-only "${train[@]}" -DLAYERS=48 "$work/train.cpp") ;;
    refused/*)
      what=(-fsyntax-only "${core[@]}" "-I$root/tests/refused" "$root/tests/$1.cpp")
      succeeds=false
      ;;
    *) echo "measure.sh: what is $1?" >&2 && return 2 ;;
  esac
  local ended=true
  LC_ALL=C /usr/bin/time -q -f '%U %M' -o "$work/time" "${compiler[@]}" -ftime-report "${what[@]}" 2> "$work/errors" ||
    ended=false
  if [[ $ended != "$succeeds" ]]; then
    cat "$work/errors" >&2
    echo "measure.sh: $1: the compiler did not end as it should" >&2
    return 2
  fi
  echo "$(cat "$work/time") $(allocated < "$work/errors")"
}
# allocated: MiB, of a report's last line (" TOTAL : 0.72 1.02 1.76 101M"); 0 where the compiler has no such report.
allocated() {
  awk '$1 == "TOTAL" { n = $NF + 0; if ($NF ~ /k$/) n /= 1024; if ($NF ~ /G$/) n *= 1024 } END { printf "%.0f", n }'
}

declare -A ratio_of=() allocated_of=()
if [[ -f "$recorded" ]]; then
  while read -r name ratio allocated; do
    [[ -z "$name" || "$name" == \#* ]] || { ratio_of[$name]="$ratio" && allocated_of[$name]="$allocated"; }
  done < "$recorded"
fi

calculate() { awk "BEGIN { printf \"%.${2-2}f\", $1 }"; }

if [[ $mode == check ]]; then
  grown=()
  for name in core core-and-backends refused/autodiff/one_mistake_in_training checked-train-6 checked-train-48 train-6; do
    figures="$(compile "$name")"  # apart, so that its failure ends the script
    read -r seconds _ allocated <<< "$figures"
    echo "$name: $allocated MiB allocated, recorded ${allocated_of[$name]}; $seconds s"
    ((allocated * 10 <= allocated_of[$name] * 11)) || grown+=("$name")
  done
  ((${#grown[@]} > 0)) || exit 0
  echo "compile-time: grown by more than a tenth: ${grown[*]}"
  echo "If it must be so, record it: cmake --build build/gcc --target compile-time-record"
  exit 1
fi

# median NAME TIMES: of the three figures
median() {
  for ((i = 0; i < $2; i++)); do compile "$1" || exit; done > "$work/all"
  local middle=$((($2 + 1) / 2))
  for field in 1 2 3; do sort -n -k "$field,$field" "$work/all" | sed -n "${middle}p" | cut -d' ' -f"$field"; done | xargs
}

reference="$(median reference 3)"
lines=()
# row NAME "seconds kilobytes allocated" NOTE
row() {
  local seconds kilobytes allocated ratio
  read -r seconds kilobytes allocated <<< "$2"
  ratio="$(calculate "$seconds / ${reference%% *}" 3)"
  printf '%-40s %8.2f %8.0f %8s %9s %9d   %s\n' "$1" "$seconds" "$(calculate "$kilobytes / 1024")" "$ratio" \
    "${ratio_of[$1]-}" "$allocated" "$3"
  lines+=("$1 $ratio $allocated")
}

"$1" --version | head -1
printf '%-40s %8s %8s %8s %9s %9s   %s\n' "" seconds MiB ratio recorded allocated target
row reference "$reference" ""
row empty "$(median empty 3)" ""
row core "$(median core 3)" "0.4 s"
alone="$(median kokkos-and-mpi 3)"
row kokkos-and-mpi "$alone" ""
together="$(median core-and-backends 3)"
row core-and-backends "$together" "1 s over Kokkos and MPI alone; it is $(calculate "${together%% *} - ${alone%% *}") s"
row checked-train-6 "$(median checked-train-6 3)" ""
row checked-train-48 "$(median checked-train-48 3)" "as with 6 layers"
six="$(median train-6 3)"
row train-6 "$six" "60 s, 2048 MiB"
deep="$(median train-48 3)"
row train-48 "$deep" "as with 6 layers; it is $(calculate "${deep%% *} / ${six%% *}") of that"

for source in "$root"/tests/refused/*/*.cpp; do
  name="refused/$(basename "$(dirname "$source")")/$(basename "$source" .cpp)"
  echo "$(median "$name" 1) $name"
done | sort -n > "$work/refused"
slowest="$(tail -n 1 "$work/refused" | cut -d' ' -f4)"
middle="$(sed -n "$((($(wc -l < "$work/refused") + 1) / 2))p" "$work/refused" | cut -d' ' -f4)"
row "$middle" "$(median "$middle" 3)" "2 s; the median of $(wc -l < "$work/refused")"
row "$slowest" "$(median "$slowest" 3)" "2 s; the slowest"
[[ "$slowest" == refused/autodiff/one_mistake_in_training ]] || row refused/autodiff/one_mistake_in_training "$(median refused/autodiff/one_mistake_in_training 3)" "2 s"

if [[ $mode == record ]]; then
  {
    echo "# Seconds to compile, as ratios to those of reference.cpp, and MiB that the compiler allocates: medians of three,"
    echo "# -O2, $("$1" --version | head -1)."
    echo "# Written by measure.sh --record; the test compile-time fails if MiB that it looks at grow by more than a tenth."
    printf '%s\n' "${lines[@]}"
  } > "$recorded"
  echo "recorded in $recorded"
fi
