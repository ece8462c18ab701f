#!/usr/bin/env bash
# Draws the examples of docs/pictures.md: GoogLeNet on vim3, and the plan that is recommended for it.
set -euo pipefail
cd "$(dirname "$0")/.."

binary=$1
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

"$binary" models/googlenet.onnx --soc vim3 --out "$run" --quiet --no-report
plan=$run/$(sed -n 's/^  "recommended": "\(.*\)",$/\1/p' "$run/front.json")
"$binary" plot "$run/front.json" -o docs/img/pareto.svg
for kind in gantt stages graph; do
    "$binary" plot "$plan" --kind "$kind" -o "docs/img/$kind.svg"
done
