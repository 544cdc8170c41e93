#!/bin/bash
# Sets up, builds everything and runs all tests: tests/run.sh [--werror] [--goals] [INSTEAD] [CTEST ARGUMENT...]
#
#   --werror     warnings are errors (always so where CI=true)
#   --goals      a goal of time that is missed fails too (else it is printed only: machines are shared)
#   --sanitize   instead: build the code that knows no libtorch with ASan and UBSan in build-asan, and run its tests
#   --thread-sanitize  instead: build plans and operators with TSan in build-tsan, and run instances of one plan and one
#                region in several threads
#   --tidy       instead: the checks of .clang-tidy on our own code, or on files that match the argument (a regular
#                expression): half an hour for everything
#   --databases  instead: all samples of PyTorch's operator and module databases against the originals, for ten minutes or
#                more; arguments go to tests/databases/databases.py
#   --campaign   instead: the long campaigns (10,000 mutated files, 1,000 kills, ...), for an hour or more
#
# Further arguments go to ctest, for example: tests/run.sh -R pass_tests (in a campaign to the test programs:
# tests/run.sh --campaign --gtest_filter='PtFile*')
set -euo pipefail

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../samples" && pwd)
cd "$samples/.."
# shellcheck source=samples/common.sh
source "$samples/common.sh"

sanitized_tests=(plan_tests plan_run_tests profiler_tests studio_tests kernel_tests)

mode=normal
cmake_arguments=(-DIPEX_STUDIO_BUILD_TESTS=ON)
[[ ${CI:-} == true ]] && cmake_arguments+=(-DIPEX_STUDIO_WERROR=ON)
while (($# > 0)); do
  case $1 in
    --werror) cmake_arguments+=(-DIPEX_STUDIO_WERROR=ON) ;;
    --goals) export IPEX_GOALS=1 ;;
    --sanitize) mode=sanitize ;;
    --thread-sanitize) mode=thread_sanitize ;;
    --tidy) mode=tidy ;;
    --databases) mode=databases ;;
    --campaign) mode=campaign ;;
    -h | --help)
      sed -n '2,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *) break ;;
  esac
  shift
done

"$samples/setup.sh" --tests

if [[ $mode == tidy ]]; then
  command -v run-clang-tidy >/dev/null || fail "clang-tidy is not installed; apt-get install clang-tidy clang-tools."
  # Each file on its own and without precompiled headers, which are GCC's.
  configure build-tidy release -B build-tidy -DIPEX_STUDIO_UNITY=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DIPEX_STUDIO_BUILD_TESTS=OFF
  set +e
  run-clang-tidy -p build-tidy -quiet -j "$(build_jobs)" "${1:-$PWD/(core|passes|kernels|profiler|studio)/}" 2>&1 |
    grep -vE '^clang-tidy|warnings? generated|^$'
  exit "${PIPESTATUS[0]}"
fi

if [[ $mode == sanitize ]]; then
  configure build-asan asan "${cmake_arguments[@]}"
  build build-asan "Building the sanitized tests" "${sanitized_tests[@]}"
  pattern=$(IFS='|' && echo "^(${sanitized_tests[*]}|studio_window_tests)(_[0-9]+)?\$")
  export ASAN_OPTIONS="detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1"
  export UBSAN_OPTIONS=print_stacktrace=1
  exec ctest --test-dir build-asan --output-on-failure --parallel "$(build_jobs)" -R "$pattern" "$@"
fi

if [[ $mode == thread_sanitize ]]; then
  configure build-tsan tsan "${cmake_arguments[@]}"
  build build-tsan "Building the tests with the thread sanitizer" plan_run_tests ops_tests
  # The libraries use one thread: the sanitizer cannot see how libgomp's threads wait for each other.
  export OMP_NUM_THREADS=1 TSAN_OPTIONS=halt_on_error=0:exitcode=66
  build-tsan/plan_run_tests --gtest_brief=1 --gtest_filter='PlanRun.TwoInstances*:PlanRun.RandomPlans*' "$@"
  exec build-tsan/ops_tests --gtest_brief=1 --gtest_filter='PlanCache.*-*Overhead*:*OtherNumbers*:*MemoryFlat' "$@"
fi

configure build release "${cmake_arguments[@]}"
if [[ $mode == databases ]]; then
  build build "Building the check of the databases" database_check
  exec /usr/bin/python3 tests/databases/databases.py build/database_check "$@"
fi
build build "Building everything (some minutes the first time)"
if [[ $mode == campaign ]]; then
  # Some of the programs read these networks.
  ctest --test-dir build -Q -R '^export_tiny_models$'
  # Run directly, because a campaign takes longer than ctest allows a test.
  export IPEX_CAMPAIGN=1
  status=0
  ctest --test-dir build --output-on-failure -R '^deployment_tests$' || status=1
  for program in build/*_tests; do
    "$program" --gtest_brief=1 "$@" || status=1
  done
  exit $status
fi
exec ctest --test-dir build --output-on-failure --parallel "$(build_jobs)" "$@"
