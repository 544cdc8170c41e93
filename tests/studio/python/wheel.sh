#!/bin/bash
# Builds a wheel for the torch of an environment, installs it there, and runs the package's tests against it:
# tests/studio/python/wheel.sh [PYTHON]
#
# PYTHON is that of an environment with torch; without it one is made over Debian's python3-torch. It takes pip and the
# network. At the end the package is uninstalled again, and nothing may be left of it.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
python=${1:-}
if [[ -z $python ]]; then
  /usr/bin/python3 -m venv --system-site-packages "$scratch/environment"
  python=$scratch/environment/bin/python
fi

"$python" -m pip install --quiet "$root/studio/python"
cd "$scratch"
export XDG_DATA_HOME=$scratch/data
folder=$("$python" -c 'import ipex_studio, os; print(os.path.dirname(ipex_studio.__file__))')
"$python" -m unittest discover -s "$root/tests/studio/python" -p 'test_*.py'
"$python" -m pip uninstall --quiet --yes ipex-studio
find "$folder" -name __pycache__ -prune -exec rm -r {} + 2>/dev/null || true
if [[ -n $(find "$folder" -type f 2>/dev/null) ]]; then
  printf 'error: uninstalling left files in %s\n' "$folder" >&2
  exit 1
fi
