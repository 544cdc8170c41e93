#!/bin/bash
# Sets up, builds, exports the networks and measures them: tests/bench/run.sh [ARGUMENT...]
#
# ResNet-50, MobileNetV3-Large, BERT-base and DLRM, at one thread and at all cores. The arguments are passed on to
# bench.py: more files to measure, --duration S, --threads 1,4, --check. Results: build/bench/bench.md and bench.json.
set -euo pipefail

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../samples" && pwd)
caller_folder=$PWD
cd "$samples/.."
root=$PWD
# shellcheck source=samples/common.sh
source "$samples/common.sh"

"$samples/setup.sh"
if [[ ! -f build/build.ninja ]]; then
  configure build release -DIPEX_STUDIO_BUILD_TESTS=OFF
fi
build build "Building ipex-studio (some minutes the first time)" ipex-studio ipex-studio-engine

models=()
for name in resnet50 mobilenet_v3_large bert_base dlrm; do
  models+=("$(exported_model "$name")")
done

# Relative files among the arguments mean the caller's folder.
cd "$caller_folder"
exec "$debian_python" "$root/tests/bench/bench.py" "${models[@]}" "$@"
