#!/bin/bash
# The whole flow: samples/resnet50_fashion_mnist/run.sh [FOLDER]
#
# Trains a ResNet-50 on Fashion-MNIST (once; a quarter of an hour on two cores with BF16, else longer; resumable),
# converts it to INT8 and prints accuracy and latency per image in FP32, BF16 and INT8. Files are kept in FOLDER, else in
# ~/.cache/ipex-studio/resnet50_fashion_mnist. Needs the packages of samples/setup.sh and a finished build.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BUILD_DIR:-$here/../../build}
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/ipex-studio/resnet50_fashion_mnist}

if [[ ! -x $build/sample_resnet50_train ]]; then
  printf 'error: %s/sample_resnet50_train is missing; build the project first (cmake --preset release && ninja -C build).\n' "$build" >&2
  exit 1
fi
mkdir -p "$folder"
cd "$folder"
[[ -f untrained.pt ]] || /usr/bin/python3 "$here/export_untrained.py" untrained.pt
[[ -f trained.pt ]] || "$build/sample_resnet50_train" untrained.pt trained.pt
"$build/sample_resnet50_deploy" trained.pt quantization_model.pt
