#!/bin/bash
# Compares ipex-studio with OpenVINO, ONNX Runtime, LiteRT, IPEX, Inductor and stock PyTorch: tests/bench/rivals.sh [ARGUMENT...]
#
# Sets up, builds, makes the other engines' environments (17 GB under ~/.cache/ipex-studio, from the Python registry; only
# those that --engines asks for) and measures all networks in turns. --help explains the arguments. Results: build/bench/rivals.md and rivals.db.
set -euo pipefail

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$bench/../.."
root=$PWD
# shellcheck source=samples/common.sh
source samples/common.sh
# shellcheck source=tests/bench/limit.sh
source tests/bench/limit.sh

environments="${XDG_CACHE_HOME:-$HOME/.cache}/ipex-studio"

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

# make_environment NAME PACKAGE...: a Python environment with these packages, made once.
make_environment() {
  local environment="$environments/$1" log="$environments/$1.log" python
  shift
  [[ -f $environment/complete ]] && return
  python=$(find_python)
  say "Installing other engines into $environment (some minutes, 5 to 7 GB)"
  mkdir -p "$environments"
  rm -rf "$environment"
  if ! { "$python" -m venv "$environment" && "$environment/bin/pip" install -q "$@"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    fail "The other engines could not be installed; the whole log is $log."
  fi
  touch "$environment/complete"
}

make_environments() {
  local name
  for name in "$@"; do
    case $name in
      rivals)
        make_environment rivals 'torch==2.8.*' 'torchvision==0.23.*' 'intel-extension-for-pytorch==2.8.*' openvino nncf \
          onnxruntime onnx
        ;;
      rivals-2.15) make_environment rivals-2.15 'torch==2.15.*' 'openvino==2026.3.*' numpy ;;
      rivals-litert) make_environment rivals-litert litert-torch torchvision ;;
    esac
  done
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
read -ra names <<<"$("$debian_python" -B "$bench/rivals.py" --list-environments "$@")"
make_environments "${names[@]}"
limit_program
exec "$debian_python" -B "$root/tests/bench/rivals.py" --limit "$root/build/bench/bench_limit" "$@"
