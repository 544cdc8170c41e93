#!/usr/bin/env python3
"""Runs a model beside busy processes, and looks whether a ratio that quiet runs would not give ever stands without its lamp.

  tests/bench/loads.py model.pt [--runs 4] [--loads 0,1,2] [--program build/ipex-studio]

Runs without a load whose lamp says quiet give the interval: from the least to the greatest end of their 95 % intervals. A run beside
loads may leave it only if its lamp says busy or throttled. Exit codes: 0 none does so without its lamp, 1 one does, 77 the machine
was never quiet, and a lamp was dark.
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
MARGIN = 0.05  # share by which the medians of two quiet runs may differ beyond their intervals, as CPUs warm up


class Loads:
    """Processes that keep one CPU busy each, for as long as the block lasts."""

    def __init__(self, count):
        self.count = count
        self.processes = []

    def __enter__(self):
        self.processes = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(self.count)]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def measured(program, model, folder):
    """Ratio, interval and lamp of one run; None for a ratio that was not printed."""
    environment = dict(os.environ, XDG_DATA_HOME=folder, XDG_CACHE_HOME=folder)
    done = subprocess.run([program, "run", model, "--json"], capture_output=True, text=True, env=environment, check=False)
    if done.returncode not in (0, 7):
        sys.exit(f"loads.py: {done.stderr.strip()}")
    result = json.loads(done.stdout)
    low, high = result["speedup_ci95"] or (None, None)
    return {"ratio": result["speedup_p50"], "low": low, "high": high, "lamp": result["noise"]["level"],
            "text": result["noise"]["text"]}


def quiet_interval(runs):
    """From the least to the greatest ratio that quiet runs hold possible; None if no run was quiet."""
    quiet = [run for run in runs if run["lamp"] == "quiet"]
    if not quiet:
        return None
    return (1 - MARGIN) * min(run["low"] for run in quiet), (1 + MARGIN) * max(run["high"] for run in quiet)


def is_lit(run):
    """True if the lamp warns beside the ratio."""
    return run["lamp"] in ("busy", "throttled")


def misleads(run, interval):
    """True if the run shows a ratio outside of the interval as if the machine had been quiet."""
    return not is_lit(run) and not interval[0] <= run["ratio"] <= interval[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--runs", type=int, default=4, help="runs beside each number of loads")
    parser.add_argument("--loads", default="0,1,2", help="numbers of busy processes, 0 first")
    parser.add_argument("--program", default="build/ipex-studio")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the loads, too
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        measured(options.program, options.model, folder)  # kernels are timed once, for all runs
        for count in [int(word) for word in options.loads.split(",")]:
            with Loads(count):
                for _ in range(options.runs):
                    run = measured(options.program, options.model, folder)
                    rows.append((count, run))
                    print(f"{count} loads  {run['ratio']:.2f}x  {run['low']:.2f}-{run['high']:.2f}  {run['text'] or 'unknown'}",
                          flush=True)
    interval = quiet_interval([run for count, run in rows if count == 0])
    print(f"{pathlib.Path(options.model).name}: quiet runs give " +
          (f"{interval[0]:.2f}x to {interval[1]:.2f}x" if interval else "no interval"))
    wrong = 0
    for count, run in rows:
        if interval is not None and misleads(run, interval):
            wrong += 1
            print(f"  {run['ratio']:.2f}x beside {count} loads stands without its lamp")
    if all(is_lit(run) for _, run in rows):
        print(f"The machine was never quiet, and the lamps of all {len(rows)} runs say so.")
        return 0
    if interval is None:
        print("The machine was never quiet; try again later.")
        return SKIPPED
    print(f"{wrong} of {len(rows)} ratios are outside without a lamp.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
