#!/bin/bash
# From a clean clone to the main job on a real network: samples/quickstart.sh [ARGUMENT...]
#
# Installs what is missing, builds the programs and the operator library, exports ResNet-50 once, and opens the studio on
# it. Where there is no display it does the same job headless: optimize, verify, measure, print the table. The arguments
# are passed on to the program, for example: samples/quickstart.sh --threads 1
set -euo pipefail

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$samples/.."
# shellcheck source=samples/common.sh
source "$samples/common.sh"

# True if a window can be opened: a DISPLAY variable alone may name a server that is gone or refuses us.
display_is_reachable() {
  [[ -n ${DISPLAY:-} ]] || return 1
  timeout 3 "$debian_python" - <<'PYTHON'
import ctypes
x11 = ctypes.CDLL("libX11.so.6")
x11.XOpenDisplay.restype = ctypes.c_void_p
raise SystemExit(x11.XOpenDisplay(None) is None)
PYTHON
}

"$samples/setup.sh"
if [[ ! -f build/build.ninja ]]; then
  # The tests need more packages; tests/run.sh switches them on.
  configure build release -DIPEX_STUDIO_BUILD_TESTS=OFF
fi
# All that README's commands run, and that `cmake --install` installs.
build build "Building ipex-studio (some minutes the first time)" ipex-studio ipex-studio-engine ipex-studio-device ipex_studio_ops python
model=$(exported_model resnet50)

if display_is_reachable; then
  exec build/ipex-studio "$model" "$@"
fi
exec build/ipex-studio run "$model" "$@"
