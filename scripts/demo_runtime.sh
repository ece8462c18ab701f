#!/bin/sh
# Measures this machine's CPU as two clusters, maps GoogLeNet on them, runs the recommended plan, and draws it as predicted and as measured.
#
#   scripts/demo_runtime.sh BIN MODEL.onnx
set -eu

bin=$1
model=$2
name=$(basename "$model" .onnx)
out=output/$name-here

# Half of the compute units each; a machine with one has one processor.
units=$("$bin/pararun" devices --json | sed -n '/"kind": *"cpu"/,/}/s/.*"compute_units": *\([0-9]*\).*/\1/p' | head -n 1)
if [ "${units:-1}" -ge 2 ]; then
    devices="one=cpu/$((units - units / 2)) two=cpu/$((units / 2))"
else
    devices="one=cpu"
fi
profile=""
maps=""
for device in $devices; do
    profile="$profile --device $device"
    maps="$maps --map $device"
done
mkdir -p output
# Names of devices have no blanks here.
# shellcheck disable=SC2086
"$bin/pararun" profile "$model" $profile -o output/here.json --budget 20
"$bin/paracompile" "$model" --soc output/here.json --costs "output/here.costs/$name.json" --out "$out"
plan=$out/$(sed -n 's/.*"recommended": *"\([^"]*\)".*/\1/p' "$out/front.json")
# shellcheck disable=SC2086
"$bin/pararun" run "$plan" --model "$model" --weights random:7 $maps --measured "$out/measured.json" --trace "$out/trace.json"
"$bin/paracompile" plot "$plan" --measured "$out/measured.json" -o "$out/predicted-and-measured.svg"
echo "the plan as predicted and as measured: $out/predicted-and-measured.svg; every command: $out/trace.json (for Perfetto)"
