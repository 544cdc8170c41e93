#!/bin/bash
# Sets up, builds, exports the networks and measures them: tests/bench/run.sh [ARGUMENT...]
#
# ResNet-50, MobileNetV3-Large, BERT-base, DLRM and the models beside the project (../shared/models), at one thread and at
# all cores, against the frozen model. The arguments are passed on to bench.py: more files to measure, --duration S,
# --threads 1,4, --check (prints what must hold, line by line). Results: build/bench/bench.md and bench.json.
#
#   run.sh --rivals [ARGUMENT...]   the other engines instead: see rivals.sh
#   run.sh --startup [ARGUMENT...]    ResNet-50 from the start of a process to its first result: see startup.py
#   run.sh --sizes MODEL SHAPE [ARGUMENT...]  sizes that an export has not seen: see sizes.py
#   run.sh --closeness [ARGUMENT...]  ResNet-50 beside its layers alone, and what a step of a plan costs: see closeness.py
set -euo pipefail

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../samples" && pwd)
caller_folder=$PWD
cd "$samples/.."
root=$PWD
# shellcheck source=samples/common.sh
source "$samples/common.sh"
# shellcheck source=tests/bench/limit.sh
source tests/bench/limit.sh

if [[ ${1:-} == --rivals ]]; then
  exec "$root/tests/bench/rivals.sh" "${@:2}"
fi

"$samples/setup.sh"
if [[ ! -f build/build.ninja ]]; then
  configure build release -DIPEX_STUDIO_BUILD_TESTS=OFF
fi
targets=(ipex-studio ipex-studio-engine ipex_studio_ops)
if [[ ${1:-} == --startup ]]; then targets+=(startup_probe); fi
if [[ ${1:-} == --closeness ]]; then targets+=(overhead_bench); fi
build build "Building ipex-studio (some minutes the first time)" "${targets[@]}"
if [[ ${1:-} == --startup ]]; then
  exec "$debian_python" -B "$root/tests/bench/startup.py" "$(exported_model resnet50)" 1x3x224x224 "${@:2}"
fi
if [[ ${1:-} == --sizes ]]; then
  cd "$caller_folder"
  exec "$debian_python" -B "$root/tests/bench/sizes.py" "${@:2}"
fi
if [[ ${1:-} == --closeness ]]; then
  limit_program
  exec "$debian_python" -B "$root/tests/bench/closeness.py" "$(exported_model resnet50)" 1x3x224x224 "${@:2}"
fi

models=()
for name in resnet50 mobilenet_v3_large bert_base dlrm; do
  models+=("$(exported_model "$name")")
done

shared="$root/../shared/models"
if [[ -d $shared ]]; then
  models+=("$shared/efficientnet_lite0.pt" "$shared/minilm.pt")
  models+=("$(printf %q "$shared/silero_vad.pt") --input sr=16000 --preserve reset_states --reset reset_states")
fi

# Relative files among the arguments are relative to the caller's folder.
cd "$caller_folder"
exec "$debian_python" "$root/tests/bench/bench.py" "${models[@]}" "$@"
