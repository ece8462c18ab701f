#!/bin/sh
# Measures whole commands of the release binary: seconds, and peak memory where GNU time is installed.
# Usage: measure.sh [BINARY] [--large]; with --large, also the import of a file of one gigabyte and of graphs of 100,000 nodes, written for the purpose.
set -eu
cd "$(dirname "$0")/.."
binary=target/release/paracompile
large=no
for argument in "$@"; do
    case $argument in
        --large) large=yes ;;
        *) binary=$argument ;;
    esac
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

measure() {
    name=$1
    shift
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -f "%es %M" -o "$folder/time" "$@" >"$folder/output"
        seconds=$(cut -d' ' -f1 "$folder/time")
        kilobytes=$(cut -d' ' -f2 "$folder/time")
        printf '%-36s %9s %6d MB\n' "$name" "$seconds" "$((kilobytes / 1024))"
    else
        before=$(date +%s%N)
        "$@" >"$folder/output"
        printf '%-36s %7d ms (memory: install GNU time)\n' "$name" "$((($(date +%s%N) - before) / 1000000))"
    fi
}

for model in googlenet inception_v3 inception_v4; do
    measure "map $model, pictures included" \
        "$binary" "models/$model.onnx" --soc vim3 --out "$folder/$model" --quiet
    # A stage whose bound is its value is proven optimal.
    grep -h '"gap"' "$folder/$model/front.json" | sort | uniq -c | sed 's/^ */    plans: /'
done
# Equal processors: three NPU cores.
for model in googlenet inception_v4 nasnetalarge; do
    measure "map $model on rk3588" \
        "$binary" "models/$model.onnx" --soc rk3588 --out "$folder/$model-rk3588" --quiet
done
measure "inspect inception_v4" "$binary" inspect models/inception_v4.onnx
if [ $large = yes ]; then
    for field in raw_data float_data; do
        python3 scripts/write_large_model.py "$folder/large.onnx" --field $field
        measure "inspect 1 GB of weights in $field" "$binary" inspect "$folder/large.onnx"
    done
    python3 scripts/write_long_graphs.py "$folder"
    for graph in chain reversed star values constants; do
        measure "inspect 100,000 nodes, $graph" "$binary" inspect "$folder/$graph.onnx"
    done
    python3 scripts/write_long_graphs.py "$folder" 1000000
    measure "inspect 1,000,000 nodes, chain" "$binary" inspect "$folder/chain.onnx"
fi
