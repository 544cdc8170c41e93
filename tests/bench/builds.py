#!/usr/bin/python3
"""Compares two builds of ipex-studio on the same models: builds.py OLD NEW MODEL... [--precision fp32,bf16] [--rounds 7]

OLD and NEW are build folders. Per model and precision it says whether both make the same plan (steps, kernels, layouts,
arena) and how much time the new one takes: processes of both take turns, and the ratio old ÷ new of the medians comes with
its 95 % bootstrap interval over the rounds. A third column is the A/A control: OLD against OLD in the same rounds. Names
that changed between the builds are given as --renamed old=new. Exit status 1 if a plan differs.
"""
import argparse
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

import ratios

COLUMNS = ("region, step, name, kind, spec, kernel, implementation, src_layout, dst_layout, dst_shape, precision, "
           "arena_begin, arena_size, last_use")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--duration", default="1.5", help="seconds measured per process")
    parser.add_argument("--tune", default="off", help="off makes plans that do not depend on measurements")
    parser.add_argument("--recipe", default="dynamic", help="for int8")
    parser.add_argument("--input", action="append", default=[], metavar="SPEC", help="as ipex-studio takes it")
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW")
    return parser.parse_args()


def bench(build, model, precision, database, options):
    """Runs `bench` once and returns the median of the optimized model in ns and the rows of its plan."""
    if os.path.exists(database):
        os.remove(database)
    command = [os.path.join(build, "ipex-studio"), "bench", model, "--db", database, "--precision", precision, "--tune",
               options.tune, "--threads", options.threads, "--duration", options.duration, "--warmup", "0.3"]
    if precision == "int8":
        command += ["--recipe", options.recipe]
    for spec in options.input:
        command += ["--input", spec]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          check=False)
    if done.returncode not in (0, 4):
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-800:]}")
    with sqlite3.connect(database) as connection:
        run, p50 = connection.execute("SELECT id, p50_ns FROM run WHERE variant = 'optimized' ORDER BY id DESC").fetchone()
        rows = connection.execute(f"SELECT {COLUMNS} FROM plan_step WHERE run_id = ? ORDER BY region, step", (run,)).fetchall()
    return p50, rows


def interval(pairs):
    """Median of the first over median of the second with its 95 % interval; each pair is one round."""
    rounds = range(len(pairs))
    return ratios.median_ratio(([a for a, _ in pairs], rounds), ([b for _, b in pairs], rounds))


def differences(old, new, renamed):
    def current(row):
        texts = []
        for value in row:
            for before, after in renamed:
                value = value.replace(before, after) if isinstance(value, str) else value
            texts.append(value)
        return tuple(texts)

    old = [current(row) for row in old]
    found = [f"{a[2]}: {a[5:]} -> {b[5:]}" for a, b in zip(old, new) if a != b]
    if len(old) != len(new):
        found.append(f"{len(old)} steps -> {len(new)} steps")
    return found


def main():
    options = arguments()
    renamed = [tuple(pair.split("=", 1)) for pair in options.renamed]
    differ = False
    print(f"{'model':28} {'precision':9} {'steps':>6} {'plan':10} {'old / new':>22} {'old / old':>22}")
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "profile.db")
        for model in options.models:
            for precision in options.precision.split(","):
                _, old_rows = bench(options.old, model, precision, database, options)
                _, new_rows = bench(options.new, model, precision, database, options)
                found = differences(old_rows, new_rows, renamed)
                differ |= bool(found)
                both, control = [], []
                for round_ in range(options.rounds):
                    order = ["old", "new", "again"]
                    random.Random(round_).shuffle(order)
                    times = {which: bench(options.new if which == "new" else options.old, model, precision, database,
                                          options)[0] for which in order}
                    both.append((times["old"], times["new"]))
                    control.append((times["old"], times["again"]))
                texts = ["{:.3f} [{:.3f}, {:.3f}]".format(*interval(pairs)) if pairs else "-" for pairs in (both, control)]
                name = os.path.basename(model).rsplit(".", 1)[0]
                print(f"{name:28} {precision:9} {len(new_rows):6} {'differs' if found else 'same':10} {texts[0]:>22} {texts[1]:>22}",
                      flush=True)
                for line in found[:10]:
                    print(f"  {line}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
