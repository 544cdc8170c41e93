#!/bin/bash
# Compares ipex-studio with OpenVINO, ONNX Runtime, IPEX, Inductor and stock PyTorch: tests/bench/rivals.sh [ARGUMENT...]
#
# Sets up, builds, makes the other engines' environment (7 GB under ~/.cache/ipex-studio/rivals, from the Python registry)
# and measures all networks in turns. --help explains the arguments. Results: build/bench/rivals.md and rivals.db.
set -euo pipefail

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$bench/../.."
root=$PWD
# shellcheck source=samples/common.sh
source samples/common.sh
# shellcheck source=tests/bench/limit.sh
source tests/bench/limit.sh

environment="${XDG_CACHE_HOME:-$HOME/.cache}/ipex-studio/rivals"

# PyTorch 2.8 and the last IPEX, which needs it, exist for these versions.
find_python() {
  local candidate
  for candidate in /usr/bin/python3 python3 python3.12 python3.11 python3.10 python3.13; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  fail "No Python 3.10 to 3.13 with venv was found; install python3-venv."
}

make_environment() {
  [[ -f $environment/complete ]] && return
  local python log="$environment.log"
  python=$(find_python)
  say "Installing the other engines into $environment (some minutes, 7 GB)"
  mkdir -p "$(dirname "$environment")"
  rm -rf "$environment"
  if ! {
    "$python" -m venv "$environment" &&
      "$environment/bin/pip" install -q 'torch==2.8.*' 'torchvision==0.23.*' 'intel-extension-for-pytorch==2.8.*' \
        openvino nncf onnxruntime onnx
  } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "The other engines could not be installed; the whole log is $log."
  fi
  touch "$environment/complete"
}

for argument in "$@"; do
  if [[ $argument == -h || $argument == --help ]]; then
    exec "$debian_python" -B "$bench/rivals.py" --help
  fi
done

samples/setup.sh
if [[ ! -f build/build.ninja ]]; then
  configure build release -DIPEX_STUDIO_BUILD_TESTS=OFF
fi
build build "Building ipex-studio (some minutes the first time)" ipex-studio ipex-studio-engine ipex_studio_ops
make_environment
limit_program
exec "$debian_python" -B "$root/tests/bench/rivals.py" --limit "$root/build/bench/bench_limit" "$@"
