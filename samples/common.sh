# shellcheck shell=bash
# Functions that quickstart.sh and tests/run.sh share: messages, logged builds, the model cache. Sourced, never run.
# Messages go to stderr, so that the program's own stdout (for example --json) stays clean.

# Debian's own interpreter, which python3-torch belongs to, whatever else comes first in PATH.
readonly debian_python=/usr/bin/python3
readonly model_cache="${XDG_CACHE_HOME:-$HOME/.cache}/ipex-studio/models"

say() { printf '%s\n' "$*" >&2; }

fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# One job per core, but no more than memory allows: a libtorch translation unit needs about 1.5 GB.
build_jobs() {
  local cores available_mb
  cores=$(nproc)
  available_mb=$(awk '/^MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)
  local fitting=$((available_mb / 1500))
  ((fitting < 1)) && fitting=1
  echo $((cores < fitting ? cores : fitting))
}

# Reads ninja's output. Prints the headline once there is real work, and a running count on a terminal.
show_build_progress() {
  local headline=$1 line started=no
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] && $line != *'Re-checking globbed directories'* ]] || continue
    if [[ $started == no ]]; then
      say "$headline"
      started=yes
    fi
    if [[ -t 2 ]]; then
      printf '\r  %s of %s' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" >&2
    fi
  done
  if [[ $started == yes && -t 2 ]]; then
    printf '\r\033[K' >&2
  fi
}

# configure FOLDER PRESET [CMAKE ARGUMENT...]: configures; the log is shown only on failure.
configure() {
  local folder=$1 preset=$2
  shift 2
  mkdir -p "$folder"
  if ! cmake --preset "$preset" "$@" >"$folder/configure.log" 2>&1; then
    tail -n 40 "$folder/configure.log" >&2
    fail "CMake could not configure $folder; the whole log is $folder/configure.log."
  fi
}

# build FOLDER HEADLINE [TARGET...]: builds the targets, or everything; the log is shown only on failure.
build() {
  local folder=$1 headline=$2
  shift 2
  local log="$folder/build.log"
  if ! ninja -C "$folder" -j "$(build_jobs)" "$@" 2>&1 | tee "$log" | show_build_progress "$headline"; then
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Generating)|^ninja: Entering' "$log" | tail -n 60 >&2
    fail "The build in $folder failed; the whole log is $log."
  fi
}

# exported_model NAME: exports the model into the cache unless it is there, with recorded inputs and outputs beside it in
# NAME.io.pt; prints the path. Run in the root folder.
exported_model() {
  local name=$1
  local path="$model_cache/$name.pt" io="$model_cache/$name.io.pt" log="$model_cache/$name.log"
  if [[ ! -f $path || ! -f $io ]]; then
    say "Exporting $name to $path"
    mkdir -p "$model_cache"
    if ! "$debian_python" samples/export_models.py "$name" -o "$path" --io "$io" >"$log" 2>&1; then
      tail -n 20 "$log" >&2
      fail "Exporting $name failed; the whole log is $log."
    fi
    rm -f "$log"
  fi
  printf '%s\n' "$path"
}
