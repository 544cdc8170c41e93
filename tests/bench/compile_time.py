#!/usr/bin/env python3
"""Time until a model that torch.compile was given has run for the first time: by the backend of ipex_studio and by Inductor.

  compile_time.py [--names resnet18 ...] [--backends ipex_studio inductor] [--side 224] [--threads 1] [--limit 600]

Names are those of eager.py. Each backend compiles each model in a process of its own, with empty caches, Inductor's C++
compiler included. Prints a line a network: seconds of each, what a call takes then, and the first backend's part of the second's
time; then the geometric mean of those. A process that takes longer than the limit is counted as that long, and said so.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import eager

CALLS_S = 1.0  # for timing calls afterwards


def measure(options):
    """In the process of one model and backend."""
    import torch
    import ipex_studio  # noqa: F401 - registers the backend
    torch.set_num_threads(options.threads)
    (_, model, x), = eager.networks(options)
    with torch.no_grad():
        model(x)
        compiled = torch.compile(model, backend=options.backends[0])
        begin = time.perf_counter()
        compiled(x)
        first = time.perf_counter() - begin
        for _ in range(30):  # plan and graph of small models are timed by turns
            compiled(x)
        count = max(1, int(CALLS_S / max(eager.timed(compiled, x, 3), 1e-6)))
        print(json.dumps({"first_s": first, "call_ms": 1e3 * eager.timed(compiled, x, count),
                          "eager_ms": 1e3 * eager.timed(model, x, max(1, count // 2))}))


def time_of(backend, name, options):
    words = [sys.executable, os.path.abspath(__file__), "--one", "--names", name, "--backends", backend, "--side",
             str(options.side), "--threads", str(options.threads)]
    with tempfile.TemporaryDirectory() as folder:
        caches = {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": folder, "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
                  "TORCHINDUCTOR_AUTOGRAD_CACHE": "0", "XDG_DATA_HOME": folder, "OMP_NUM_THREADS": str(options.threads)}
        try:
            done = subprocess.run(words, env={**os.environ, **caches}, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=options.limit, check=False)
        except subprocess.TimeoutExpired:
            return {"first_s": options.limit, "call_ms": math.nan, "eager_ms": math.nan}
    if done.returncode != 0:
        raise SystemExit(f"{name} with {backend}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", nargs="+", default=eager.NAMES)
    parser.add_argument("--backends", nargs="+", default=["ipex_studio", "inductor"])
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one process")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.batch, options.tiny = 1, False
    if options.one:
        measure(options)
        return
    shares = []
    for name in options.names:
        found = {backend: time_of(backend, name, options) for backend in options.backends}
        text = ", ".join(f"{backend} {times['first_s']:.2f} s, then {times['call_ms']:.3f} ms (eager {times['eager_ms']:.3f})"
                         for backend, times in found.items())
        if len(found) > 1:
            first, second = (times["first_s"] for times in list(found.values())[:2])
            shares.append(first / second)
            text += f": {shares[-1]:.4f}{' at most' if second == options.limit else ''}"
        print(f"{name}: {text}", flush=True)
    if shares:
        print(f"geometric mean {math.exp(statistics.fmean(map(math.log, shares))):.4f}, most {max(shares):.4f}")


if __name__ == "__main__":
    main()
