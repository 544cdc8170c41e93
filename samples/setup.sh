#!/bin/bash
# Installs what is missing from Debian's packages: samples/setup.sh [--tests] [--xpu]
#
#   (nothing)   what building and using ipex-studio takes
#   --tests     also what its test-suite takes
#   --xpu       also OpenCL drivers: PoCL for the processor, and Intel's where an Intel GPU is
#
# Says nothing and takes a moment when all is there. Needs root or sudo only when something is missing.
set -euo pipefail

# Packages for compiling the programs.
build_packages=(
  g++ cmake ninja-build ccache pkg-config
  libtorch-dev libdnnl-dev ocl-icd-opencl-dev libhwy-dev libjemalloc-dev
  libimgui-dev libglfw3-dev libgl-dev libstb-dev
  libsqlite3-dev libcli11-dev libfmt-dev nlohmann-json3-dev libseccomp-dev zlib1g-dev libisal-dev
  libjpeg-dev libpng-dev libtomlplusplus-dev
  pybind11-dev python3-dev
)
# Packages that the programs and the samples need at run time. libopenblas0-openmp: any other BLAS is either several
# times slower or brings a second thread pool, so that one thread no longer uses one core.
run_packages=(
  libopenblas0-openmp libgl1-mesa-dri fonts-inter fonts-jetbrains-mono ca-certificates
  python3-torch python3-torchvision python3-numpy
  dataset-fashion-mnist
)
test_packages=(libgtest-dev libgmock-dev clang-format xvfb xauth sqlite3 pocl-opencl-icd)
xpu_packages=(ocl-icd-libopencl1 pocl-opencl-icd)

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

usage() { sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo "$@"
  fi
}

require_root_for() {
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    fail "This needs root, and sudo is not installed; run samples/setup.sh as root to $*."
  fi
}

# Prints the packages among the arguments that are not installed.
missing_packages() {
  local installed
  # dpkg-query fails if it does not know a name, but prints the names it knows.
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

install_packages() {
  require_root_for "install: $*"
  local log
  log=$(mktemp)
  local -a install=(env DEBIAN_FRONTEND=noninteractive
    apt-get install -y -q --no-install-recommends -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@")
  printf 'Installing %d Debian packages: %s\n' $# "$*" >&2
  # The package lists may be missing or older than the mirror, so one update and a second try follow.
  if ! as_root "${install[@]}" >"$log" 2>&1 </dev/null; then
    if ! { as_root apt-get update -q && as_root "${install[@]}"; } >"$log" 2>&1 </dev/null; then
      tail -n 20 "$log" >&2
      rm -f "$log"
      fail "apt-get could not install the packages above; check the network and that Debian's main section is enabled."
    fi
  fi
  rm -f "$log"
}

# libtorch finds BLAS, LAPACK and OpenBLAS through Debian's alternatives, and all three must share OpenMP's threads.
select_openmp_blas() {
  local link name target
  for link in /etc/alternatives/{libblas.so.3,liblapack.so.3,libopenblas.so.0}-*; do
    [[ -e $link ]] || continue
    name=${link##*/}
    [[ $(readlink "$link") == */openblas-openmp/* ]] && continue
    target=$(update-alternatives --list "$name" | grep -m1 /openblas-openmp/) || continue
    require_root_for "select $target for $name"
    printf 'Selecting %s for %s\n' "$target" "$name" >&2
    as_root update-alternatives --set "$name" "$target" >/dev/null
  done
}

# True if a GPU of Intel's is in this machine.
has_intel_gpu() { grep -qs 0x8086 /sys/class/drm/renderD*/device/vendor; }

packages=("${build_packages[@]}" "${run_packages[@]}")
for argument in "$@"; do
  case $argument in
    --tests) packages+=("${test_packages[@]}") ;;
    --xpu)
      packages+=("${xpu_packages[@]}")
      if has_intel_gpu; then packages+=(intel-opencl-icd); fi
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      printf 'error: samples/setup.sh does not know %s; see --help.\n' "$argument" >&2
      exit 2
      ;;
  esac
done

if ! command -v apt-get >/dev/null; then
  fail "There is no apt-get here; use Debian 12 or 13, or install the counterparts of: ${packages[*]}."
fi

mapfile -t missing < <(missing_packages "${packages[@]}")
if ((${#missing[@]} > 0)); then
  install_packages "${missing[@]}"
fi
select_openmp_blas
