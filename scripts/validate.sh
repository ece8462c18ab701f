#!/bin/sh
# Measures this machine, maps models on what was measured, runs every plan, and says how well the predictions hold.
#
#   DEVICES="big=cpu/12 little=cpu/4 gpu=gpu" SUBSETS="big,little" scripts/validate.sh OUT MODEL.onnx...
#
# DEVICES are the processors of the profile, as `pararun profile --device` takes them.
# SUBSETS are sets of processors (separated by blanks) that are mapped and validated by themselves too.
# BUDGET is the time of the measurement of a model in seconds; BIN the folder of the two binaries.
# For every model and set OUT gets the plans, a table (.txt), all figures (.json) and a scatter (.svg).
set -eu

out=$1
shift
bin=${BIN:-target/release}
budget=${BUDGET:-60}
devices=""
maps=""
for device in $DEVICES; do
    devices="$devices --device $device"
    maps="$maps --map $device"
done
mkdir -p "$out"

# Names of devices have no blanks here.
for model in "$@"; do
    name=$(basename "$model" .onnx)
    # Each model by itself, since contention is that of the operators that are measured.
    # shellcheck disable=SC2086
    "$bin/pararun" profile "$model" $devices -o "$out/$name-soc.json" --budget "$budget"
    for set in all ${SUBSETS:-}; do
        subset=""
        [ "$set" = all ] || subset="--processors $set"
        run="$out/$name-$(echo "$set" | tr , +)"
        # shellcheck disable=SC2086
        "$bin/paracompile" "$model" --soc "$out/$name-soc.json" --costs "$out/$name-soc.costs/$name.json" --out "$run" --no-plots --quiet $subset
        # shellcheck disable=SC2086
        "$bin/pararun" validate "$run" --model "$model" --weights random:7 $maps --fidelity "$run-fidelity.json" -o "$run.json" >"$run.txt"
        cat "$run.txt"
        "$bin/paracompile" plot "$run-fidelity.json" -o "$run.svg"
    done
done
