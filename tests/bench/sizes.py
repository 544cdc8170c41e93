#!/usr/bin/python3
"""A compiled export at sizes that it has not seen, beside the original: sizes.py MODEL SHAPE [--count N] [--check]

SHAPE has one range, the axis whose size changes: 1x8000..32000. Both run in one process, in turns, in Python.
  once   every size comes once, at random
  mix    a fourth as many sizes come back, some often (Zipf)
Memory is the peak of a process that runs the export alone, for all sizes and for the largest alone.
--check: exit code 1 where `once` takes more than 1.05 times the original's time or 1.5 times one size's memory, or `mix` is
not faster than the original.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from typing import List, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST_TIME, MOST_MEMORY, MOST_MIX = 1.05, 1.5, 0.98


def parse_shape(text: str) -> Tuple[List[int], int, int, int]:
    """Sizes, the axis that changes, its least and its largest size."""
    sizes = text.split("x")
    axes = [axis for axis, size in enumerate(sizes) if ".." in size]
    if len(axes) != 1:
        raise SystemExit("SHAPE needs one axis with a range, such as 1x8000..32000.")
    least, most = map(int, sizes[axes[0]].split(".."))
    return [int(size.split("..")[0]) for size in sizes], axes[0], least, most


def sizes_of(mode: str, count: int, least: int, most: int, seed: int) -> List[int]:
    chance = random.Random(seed)
    if mode == "once":
        return [chance.randint(least, most) for _ in range(count)]
    known = [chance.randint(least, most) for _ in range(max(2, count // 4))]
    return chance.choices(known, [1 / (place + 1) for place in range(len(known))], k=count)


class Child:
    """What runs in a process of its own."""

    def __init__(self, job: dict):
        import torch
        self.torch, self.job = torch, job
        torch.set_num_threads(job["threads"])
        torch.ops.load_library(job["library"])
        torch.set_grad_enabled(False)
        self.sizes, self.axis, _, self.most = parse_shape(job["shape"])
        self.fast = torch.jit.load(job["fast"])

    def input(self, size: int):
        sizes = list(self.sizes)
        sizes[self.axis] = size
        return self.torch.randn(*sizes)

    def times(self) -> dict:
        original = self.torch.jit.freeze(self.torch.jit.load(self.job["original"]).eval())
        models = [original, self.fast]
        for model in models:
            for _ in range(3):
                model(self.input(self.most))
        total = [0.0, 0.0]
        for turn, size in enumerate(self.job["list"]):
            given = self.input(size)
            for which in (0, 1) if turn % 2 else (1, 0):
                begin = time.perf_counter()
                models[which](given)
                total[which] += time.perf_counter() - begin
        count = len(self.job["list"])
        return {"original_ms": 1e3 * total[0] / count, "fast_ms": 1e3 * total[1] / count}

    def memory(self) -> dict:
        for size in self.job["list"]:
            self.fast(self.input(size))
        return {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def run_child(what: str, job: dict) -> dict:
    process = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), "--child", what, json.dumps(job)], check=True,
                             stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": str(job["threads"])})
    return json.loads(process.stdout)


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        child = Child(json.loads(sys.argv[3]))
        print(json.dumps(child.times() if sys.argv[2] == "times" else child.memory()))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("shape")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--new-sizes", default="returning", choices=("at-once", "returning", "background"))
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    sizes, axis, least, most = parse_shape(options.shape)
    sizes[axis] = (least + most) // 2
    with tempfile.TemporaryDirectory() as folder:
        fast = os.path.join(folder, "fast.pt")
        subprocess.run([os.path.join(options.build, "ipex-studio"), "run", options.model, "--input", "x".join(map(str, sizes)),
                        "--threads", str(options.threads), "--new-sizes", options.new_sizes, "--iterations", "1", "-o", fast,
                        "--db", os.path.join(folder, "profile.db")], check=True, stdout=subprocess.DEVNULL)
        job = {"library": os.path.join(options.build, "libipex_studio_ops.so"), "original": options.model, "fast": fast,
               "shape": options.shape, "threads": options.threads}
        print(f"| {options.count} sizes | original, ms | export, ms | export ÷ original | memory, MB | of the largest alone |")
        print("|---" * 6 + "|")
        within = True
        for mode in ("once", "mix"):
            chosen = sizes_of(mode, options.count, least, most, options.seed)
            times = run_child("times", {**job, "list": chosen})
            every = run_child("memory", {**job, "list": chosen})["peak_mb"]
            single = run_child("memory", {**job, "list": [max(chosen)] * 5})["peak_mb"]
            ratio = times["fast_ms"] / times["original_ms"]
            within = within and ratio <= (MOST_TIME if mode == "once" else MOST_MIX) and every <= MOST_MEMORY * single
            print(f"| {mode} | {times['original_ms']:.2f} | {times['fast_ms']:.2f} | {ratio:.2f} | {every:.0f} | {single:.0f} |",
                  flush=True)
    return 0 if within or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
