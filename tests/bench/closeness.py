#!/usr/bin/python3
"""How close a network comes to what its layers alone would cost:
closeness.py MODEL SIZES [--rounds N] [--threads N] [--precision bf16|int8] [--studio-flags "…"] [--check]

  network ÷ layers  the optimized network's median over the sum of the best raw oneDNN primitive of each layer (limit.cpp:
                    cold weights, two buffers for activations, the best algorithm and layout of each), interleaved
  layers ÷ network  below FP32 instead: the same sum, in FP32, over the network in that precision
  ns per step       what our code costs around each step of a plan (overhead_bench)
--check: exit code 1 where a figure misses its goal.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

import limits

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_RATIO, MOST_STEP_NS = 1.10, 300.0
LEAST_GAIN = {"bf16": 1.5, "int8": 3.0}  # where the CPU has AVX512-BF16, and VNNI


def within(what: str, value: float, goal: float, text: str) -> bool:
    print(f"{what}: {text} (goal {goal:g})", flush=True)
    return value <= goal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sizes", help="of the input: 1x3x224x224")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=("fp32", *LEAST_GAIN), default="fp32")
    parser.add_argument("--studio-flags", type=shlex.split, default=[], metavar="FLAGS",
                        help="more flags for `ipex-studio run`, quoted")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    network = os.path.basename(options.model)[: -len(".pt")]
    cores = sorted(os.sched_getaffinity(0))
    ours, layers, without = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "profile.db")
        for _ in range(options.rounds):
            subprocess.run([os.path.join(options.build, "ipex-studio"), "run", options.model, "--threads", str(options.threads),
                            "--precision", options.precision, "--duration", "3", "--db", database, *options.studio_flags],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            account, found = limits.read(database, network, options.threads, options.sizes)
            limit = limits.measure(os.path.join(options.build, "bench", "bench_limit"), found, options.threads, cores, False, 600)
            if account is None or limit is None:
                raise RuntimeError(f"{options.model} has no layers that are known alone")
            ours.append(account.run_ns)
            layers.append(limit.sum_ns)
            without.append(limit.without_winograd_ns)
    if options.precision != "fp32":
        gain, goal = float(np.median(np.divide(layers, ours))), LEAST_GAIN[options.precision]
        print(f"layers in FP32 ÷ network in {options.precision.upper()}: {gain:.2f}, {np.median(layers) / 1e6:.2f} ÷ {np.median(ours) / 1e6:.2f} ms "
              f"(goal {goal:g})")
        return 0 if gain >= goal or not options.check else 1
    ratio = float(np.median(np.divide(ours, layers)))
    text = (f"{ratio:.3f}, {np.median(ours) / 1e6:.2f} ÷ {np.median(layers) / 1e6:.2f} ms; "
            f"{np.median(np.divide(ours, without)):.3f} of the layers without Winograd")
    good = within("network ÷ layers", ratio, MOST_RATIO, text)
    said = subprocess.run([os.path.join(options.build, "overhead_bench")], check=True, text=True, stdout=subprocess.PIPE).stdout
    nothing, reading, prepared, bare = (float(value) for value in re.findall(r": +([\d.]+) ns", said))
    for what, value in (("a step that does nothing", nothing), ("one that reads a plan's input", reading), ("around a library call", prepared - bare)):
        good = within(f"ns per step, {what}", value, MOST_STEP_NS, f"{value:.1f}") and good
    return 0 if good or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
