#!/usr/bin/python3
"""Compares two builds of ipex-studio on sample networks: builds.py OLD NEW NETWORK... [--precision fp32,bf16,int8]

OLD and NEW are build folders. Per network and precision it says whether both make the same plan (steps, kernels, layouts,
arena) and how much time the new one takes. Each build's export runs in a process of its own, and the processes take turns
of a fraction of a second, so whatever else happens on the machine happens to both. Addresses differ from process to
process, and with them the time; so processes are started several times, and the ratio old ÷ new is the geometric mean of
the starts' with its 95 % bootstrap interval. The time of a process is the first quintile of its runs, as others' work on
the machine only adds to it. The last column is the A/A control: a second
process of OLD in the same turns. Names that changed between the builds are given as --renamed old=new. Exit status 1 if a
plan differs.
"""
import argparse
import os
import shlex
import sqlite3
import sys
import tempfile

import numpy as np

import made_files
import ratios
import turns
from scenarios import NETWORKS, PROBES

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
PYTHON = "/usr/bin/python3"
COLUMNS = ("region, step, name, kind, spec, kernel, implementation, src_layout, dst_layout, dst_shape, precision, "
           "arena_begin, arena_size, last_use")
PAUSE_S = 0.01
TIMEOUT_S = 600


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("networks", nargs="+", choices=sorted({**NETWORKS, **PROBES}), metavar="NETWORK")
    parser.add_argument("--precision", default="fp32", help="a list; int8 is calibrated on recorded samples")
    parser.add_argument("--starts", type=int, default=6, help="how often the processes are started")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each process per start")
    parser.add_argument("--turn", type=float, default=0.1, help="seconds per turn")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tune", default="off", help="off makes plans that do not depend on measurements")
    parser.add_argument("--cache", default=os.path.expanduser("~/.cache/ipex-studio/builds"))
    parser.add_argument("--renamed", action="append", default=[], metavar="OLD=NEW")
    return parser.parse_args()


def made(path, *words):
    return made_files.made(path, [PYTHON, "-B", *words], TIMEOUT_S)


def prepare(network, cache):
    """The network's file, its inputs with eager's outputs, its recording to calibrate on, and the flags for its inputs."""
    os.makedirs(cache, exist_ok=True)
    batch, script = str({**NETWORKS, **PROBES}[network][0]), os.path.join(FOLDER, "prepare.py")
    stem = os.path.join(cache, network)
    files = {"torchscript": made(f"{stem}.pt", os.path.join(ROOT, "samples", "export_models.py"), network, "-o", "OUT")}
    files["io"] = made(f"{stem}.npz", script, "io", network, files["torchscript"], batch, "OUT")
    files["samples"] = made(f"{stem}-samples.npz", script, "samples", network, files["torchscript"], batch, "OUT")
    files["recording"] = made(f"{stem}.io.pt", script, "recording", files["samples"], "OUT")
    return files, shlex.split(made_files.output_of([PYTHON, "-B", script, "flags", network, batch], "inputs", TIMEOUT_S))


def export(build, precision, files, flags, out, options):
    """Exports the network by one build; the rows of its plan."""
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "profile.db")
        command = [os.path.join(build, "ipex-studio"), "run", files["torchscript"], "-o", out, "--db", database, "--tune",
                   options.tune, "--threads", str(options.threads), "--iterations", "2", *flags]
        if precision != "fp32":
            # Random weights lose their direction soon: what is compared is two builds, not precisions.
            command += ["--precision", precision, "--force-precision", "--data", files["recording"], "--min-cosine", "1e-6"]
        made_files.output_of(command, shlex.join(command), TIMEOUT_S)
        with sqlite3.connect(database) as connection:
            return connection.execute(
                f"SELECT {COLUMNS} FROM plan_step WHERE run_id = (SELECT max(id) FROM run WHERE variant = 'optimized') "
                "ORDER BY region, step").fetchall()


def library_of(build):
    return os.path.join(build, "libipex_studio_ops.so")


def quick_times(jobs, start, folder, options):
    """Starts a process per name, gives them turns, and returns the first quintile of each one's ns."""
    environment = {"OMP_NUM_THREADS": str(options.threads), "PYTHONPATH": os.path.join(ROOT, "samples")}
    teams, results = {}, {}
    try:
        for name, job in jobs.items():
            worker = turns.Worker(PYTHON, job, environment, os.path.join(folder, f"{name}.log"), TIMEOUT_S)
            teams[name], results[name] = [worker], turns.Measured(name)
            worker.answer()
            worker.take_precedence()
            worker.stop()
        turns.take_turns(teams, results, options.rounds, options.turn, PAUSE_S, seed=start)
    finally:
        for team in teams.values():
            for worker in team:
                worker.close()
    for result in results.values():
        if result.error:
            raise SystemExit(f"{result.engine}: {result.error}")
    return {name: float(np.percentile(result.latency_ns, 20)) for name, result in results.items()}


def interval(values):
    """Geometric mean with its 95 % bootstrap interval."""
    generator = np.random.default_rng(0)
    drawn = [ratios.geometric_mean(list(generator.choice(values, len(values)))) for _ in range(ratios.RESAMPLES)]
    return ratios.geometric_mean(values), *np.percentile(drawn, [2.5, 97.5])


def compare(precision, files, flags, options):
    """The rows of both plans, and the ratios old ÷ new and old ÷ old per start."""
    cores = sorted(os.sched_getaffinity(0))[-options.threads:]
    with tempfile.TemporaryDirectory() as folder:
        exports = {name: os.path.join(folder, f"{name}.pt") for name in ("old", "new")}
        rows = {name: export(getattr(options, name), precision, files, flags, out, options) for name, out in exports.items()}
        jobs = {name: {"engine": "optimized", "precision": "fp32", "io": files["io"], "threads": options.threads, "cores": cores,
                       "files": {"compiled": exports[kind], "library": library_of(getattr(options, kind))}}
                for name, kind in (("old", "old"), ("new", "new"), ("again", "old"))}
        times = [quick_times(jobs, start, folder, options) for start in range(options.starts)]
    return rows["old"], rows["new"], [t["old"] / t["new"] for t in times], [t["old"] / t["again"] for t in times]


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
    print(f"{'network':20} {'precision':9} {'steps':>6} {'plan':8} {'old / new':>22} {'old / old':>22}", flush=True)
    for network in options.networks:
        files, flags = prepare(network, options.cache)
        for precision in options.precision.split(","):
            old, new, both, control = compare(precision, files, flags, options)
            found = differences(old, new, renamed)
            differ |= bool(found)
            texts = ["{:.3f} [{:.3f}, {:.3f}]".format(*interval(values)) for values in (both, control)]
            print(f"{network:20} {precision:9} {len(new):6} {'differs' if found else 'same':8} {texts[0]:>22} {texts[1]:>22}",
                  flush=True)
            for line in found[:10]:
                print(f"  {line}")
    return 1 if differ else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"error: {error}")
