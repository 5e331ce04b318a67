#!/usr/bin/env bash
# Draws the pictures of documents anew, into docs/pictures/: for docs/plans.md the sections of a page of `plan --html` for a
# model of GPT-3 XL's shape on 16 H100s; for docs/recipes.md the losses of a page of `train --report`, of 300 steps on the text of
# scripts/demo.sh. Photographed by Chromium (scripts/setup.sh --browser).
#   scripts/pictures.sh [FOLDER OF A BUILD]   default: build/gcc
set -euo pipefail
cd "$(dirname "$0")/.."

build="${1:-build/gcc}"
[[ -f "$build/CMakeCache.txt" ]] || cmake --preset gcc -B "$build" >/dev/null
cmake --build "$build" --target plan train-one
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
tensor="heads:model;d_ff:model;vocab:model"
"$build/examples/transformer/plan" --model examples/transformer/configs/gpt3_xl.json --machine h100 --html "$work/plan.html" \
  --mesh "data:16" --layout "batch:data" \
  --mesh "data:4;model:4" --layout "batch:data;$tensor" \
  --mesh "data:2;model:8" --layout "batch:data;$tensor" \
  --mesh "data:2;seq:8" --layout "batch:data;sequence:seq" >"$work/plan.txt"
tail -5 "$work/plan.txt"

browser() {
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
    --virtual-time-budget=5000 "$@" 2>/dev/null
}
page=plan
# picture SECTION SCRIPT: the section of the page alone, after the script, in a window of its height.
picture() {
  {
    cat "$work/$page.html"
    cat <<HTML
<style>body { padding: 0.5rem 1.5rem; max-width: none } main > section:not(#$1) { display: none } h2 { border: 0; margin: 0 }
${3:-header { display: none \}}</style>
<script>$2; draw(); document.documentElement.dataset.height = Math.ceil(document.body.getBoundingClientRect().height);</script>
HTML
  } >"$work/$1.html"
  local height
  height="$(browser --window-size=1000,900 --dump-dom "file://$work/$1.html" | sed -nE 's/.*data-height="([0-9]+)".*/\1/p' | head -1)"
  browser --window-size="1000,$height" --screenshot="$PWD/docs/pictures/$1.png" "file://$work/$1.html"
  echo "docs/pictures/$1.png: 1000 x $height, $(stat -c %s "docs/pictures/$1.png") bytes"
}
mkdir -p docs/pictures
picture totals "" " "
picture mesh "byId('tensor').value = layouts[0].tensors.findIndex((t) => t.name === 'blocks.*.wq'); drawMeshes();
  document.querySelectorAll('#meshes .card')[1].querySelectorAll('.rank')[6].click()"
picture time "byId('item-detail').textContent = detailOf(1, layouts[1].timeline.items.find((x) => x.what === 'all-reduce' && x.times > 1))"
picture memory-over-time ""
picture sent ""

page=run
bible -f gen1:1-rev22:21 | sed 's/^[^ ]* //' >"$work/kjv.txt"
"$build/examples/transformer/train-one" --data "$work/kjv.txt" --steps 300 --sample 0 --report "$work/run.html" >/dev/null
picture losses "" " "
