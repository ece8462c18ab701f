#!/bin/sh
# Runs a fuzz target for some seconds on one core, or with 0 seconds minimises what was learnt into the committed corpus.
# Usage: fuzz.sh TARGET SECONDS; docs/fuzzing.md
set -eu
cd "$(dirname "$0")/../fuzz"
target=$1
seconds=$2
# Longer inputs teach nothing more; libFuzzer would spend its time on them.
case $target in
    onnx_import) options="-max_len=40000 -dict=dictionaries/onnx.dict" ;;
    kernels_import | plan_json | soc_profile_json) options="-max_len=40000 -dict=dictionaries/json.dict" ;;
    *) options="-max_len=4096" ;;
esac
features=
if [ "$target" = graph_partition ]; then
    features="--features partition"
fi
# The coverage that the fuzzer follows is a nightly flag of cargo-fuzz alone; the sanitizers that need a nightly compiler are left out.
export RUSTC_BOOTSTRAP=1
mkdir -p "corpus/$target" "corpus-grown/$target" artifacts
# shellcheck disable=SC2086
if [ "$seconds" = 0 ]; then
    cargo fuzz run --sanitizer none --fuzz-dir . $features "$target" \
        "corpus/$target" "corpus-grown/$target" -- -merge=1 -max_len=1000
else
    cargo fuzz run --sanitizer none --fuzz-dir . $features "$target" \
        "corpus-grown/$target" "corpus/$target" -- \
        $options -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -print_final_stats=1
fi
