# shellcheck shell=bash
# Functions that rivals.sh and run.sh share. Sourced in the root folder, never run.

# Makes build/bench/bench_limit. Compiled here and not by CMake, because it is for this machine alone.
limit_program() {
  local limit=build/bench/bench_limit
  if [[ ! $limit -nt tests/bench/limit.cpp ]]; then
    mkdir -p build/bench
    g++ -std=c++17 -O3 -march=native -fopenmp tests/bench/limit.cpp -o "$limit" -ldnnl
  fi
}
