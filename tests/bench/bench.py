#!/usr/bin/python3
"""Measures engines on TorchScript files and writes one Markdown table and one JSON file.

  bench.py MODEL...            one row per model and number of threads
  bench.py --check MODEL...    also exports both forms, loads them in stock PyTorch and compares everything with the
                               targets below: "pass" or "MISS" per line; exit code 1 where one is missed

MODEL is a file, or a quoted file with flags for the engine: "vad.pt --input rate=16000 --reset reset_states". Recorded
inputs are taken from NAME.io.pt beside NAME.pt where that exists. Every ratio comes from two processes that took turns
within one run; times of different runs, and of different machines, do not compare.
"""

import argparse
import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from typing import Dict, List, Optional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Bounds that hold at any number of threads: least speed-up, most seconds to the first result, most memory.
TARGETS = {
    "resnet50": {"speedup": 1.3, "first_result_s": 3.0, "peak_ratio": 1.6},
    "mobilenet_v3_large": {"speedup": 2.5},
}
# Largest difference from eager, relative to the largest value, for every network in FP32.
MAX_REL_TARGET = 1e-4


@dataclasses.dataclass(frozen=True)
class Model:
    """A file to measure, and the flags that say how to run it."""

    name: str
    path: str
    flags: List[str]

    @staticmethod
    def parse(text: str) -> "Model":
        path, *flags = [text] if os.path.exists(text) else shlex.split(text)
        stem = path[: -len(".pt")] if path.endswith(".pt") else path
        if "--inputs" not in flags and os.path.exists(f"{stem}.io.pt"):
            flags += ["--inputs", f"{stem}.io.pt"]
        return Model(os.path.basename(stem), path, flags)


@dataclasses.dataclass
class Row:
    """One measurement: times in the unit their name ends in, ratios without one; None is "not known"."""

    network: str
    engine: str
    threads: int
    isa: Optional[str] = None
    baseline_p50_ms: Optional[float] = None
    p50_ms: Optional[float] = None
    speedup: Optional[float] = None
    speedup_ci95: Optional[List[float]] = None
    first_result_s: Optional[float] = None  # compile and first run
    peak_ratio: Optional[float] = None
    max_rel: Optional[float] = None
    sqnr_db: Optional[float] = None
    accurate: Optional[bool] = None
    coverage_nodes: Optional[float] = None
    coverage_time: Optional[float] = None
    error: Optional[str] = None
    raw: Optional[dict] = None  # what the engine itself reported


class Engine:
    """One way to run a model fast, measured against the default torch::jit::freeze on the same threads."""

    name = ""

    def measure(self, model: Model, threads: int, duration_s: float) -> Row:
        raise NotImplementedError


class IpexStudio(Engine):
    name = "ipex-studio"

    def __init__(self, program: str, timeout_s: float):
        self.program = program
        self.timeout_s = timeout_s

    def measure(self, model: Model, threads: int, duration_s: float) -> Row:
        row = Row(model.name, self.name, threads)
        command = [self.program, "bench", model.path, "--json", "--threads", str(threads),
                   "--duration", f"{duration_s:g}", *model.flags]
        try:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, timeout=self.timeout_s, check=False)
        except subprocess.TimeoutExpired:
            row.error = f"no answer within {self.timeout_s:g} s"
            return row
        if result.returncode != 0:
            lines = result.stderr.strip().splitlines()
            row.error = f"exit code {result.returncode}: {lines[-1] if lines else 'no message'}"
            return row
        fill(row, json.loads(result.stdout))
        return row


def fill(row: Row, report: dict) -> None:
    """Copies what the table shows out of the JSON of `ipex-studio bench`, schema 1."""
    if report["schema"] != 1:
        raise ValueError(f"this script reads schema 1 of the JSON, and the program wrote schema {report['schema']}")
    runs: Dict[str, dict] = {run["variant"]: run for run in report["runs"]}
    baseline, optimized = runs["baseline"], runs["optimized"]
    row.raw = report
    row.isa = report["machine"]["isa"]
    row.baseline_p50_ms = baseline["latency_ms"]["p50"]
    row.p50_ms = optimized["latency_ms"]["p50"]
    row.speedup = report["speedup_p50"]
    row.speedup_ci95 = report["speedup_ci95"]
    row.first_result_s = (optimized["compile_ms"] + optimized["first_run_ms"]) / 1e3
    if baseline.get("peak_rss_mb"):
        row.peak_ratio = optimized["peak_rss_mb"] / baseline["peak_rss_mb"]
    accuracy = optimized.get("accuracy") or {}
    row.max_rel, row.sqnr_db = accuracy.get("max_rel"), accuracy.get("sqnr_db")
    row.accurate = accuracy.get("pass")
    coverage = optimized.get("coverage") or {}
    row.coverage_nodes, row.coverage_time = coverage.get("nodes"), coverage.get("time")


@dataclasses.dataclass
class Check:
    """One bound and its verdict."""

    text: str
    holds: bool


def checks(row: Row) -> List[Check]:
    """The targets of a row; an unknown value does not hold."""
    if row.error:
        return [Check(row.error, False)]
    found = []
    for key, bound in TARGETS.get(row.network, {}).items():
        value = getattr(row, key)
        least = key == "speedup"
        holds = value is not None and (value >= bound if least else value <= bound)
        found.append(Check(f"{key} {shown(value, 2)}, {'at least' if least else 'at most'} {bound:g}", holds))
    holds = row.accurate is not False and row.max_rel is not None and row.max_rel <= MAX_REL_TARGET
    found.append(Check(f"max_rel {scientific(row.max_rel)}, at most {MAX_REL_TARGET:g}", holds))
    return found


def reload_check(model: Model, form: str, program: str, timeout_s: float) -> Check:
    """Exports the model, loads the file in stock PyTorch in another process, compares with the recorded calls."""
    recording = next((model.flags[i + 1] for i, flag in enumerate(model.flags) if flag == "--inputs"), None)
    if recording is None:
        return Check(f"{form} export: no recorded calls to compare with", False)
    values = [flag for flag in model.flags if re.fullmatch(r"\w+=.*", flag)]
    library = os.path.join(os.path.dirname(program), "libipex_studio_ops.so")
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "export.pt")
        commands = [[program, "run", model.path, *model.flags, "-o", out, "--form", form, "--iterations", "2", "--warmup",
                     "0", "--db", os.path.join(folder, "profile.db")],
                    ["/usr/bin/python3", "-B", os.path.join(ROOT, "tests", "bench", "reload.py"), out, recording, *values,
                     *([library] if form == "compiled" else [])]]
        for command in commands:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True, timeout=timeout_s, check=False)
            if result.returncode != 0:
                lines = result.stderr.strip().splitlines()
                return Check(f"{form} export: {lines[-1] if lines else f'exit code {result.returncode}'}", False)
    max_rel = float(result.stdout)
    return Check(f"{form} export reloads, max_rel {scientific(max_rel)}, at most {MAX_REL_TARGET:g}",
                 max_rel <= MAX_REL_TARGET)


def scientific(value: Optional[float]) -> str:
    return "–" if value is None else f"{value:.1e}"


def shown(value: Optional[float], digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value: Optional[float]) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def markdown(rows: List[Row]) -> str:
    lines = ["| network | engine | threads | ISA | baseline p50 ms | p50 ms | speed-up [95 %] | first result s "
             "| peak memory ratio | SQNR dB | max rel | coverage nodes / time |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in rows:
        if row.error:
            lines.append(f"| {row.network} | {row.engine} | {row.threads} | {row.error} |" + " |" * 8)
            continue
        interval = "" if row.speedup_ci95 is None else " [{:.2f}, {:.2f}]".format(*row.speedup_ci95)
        lines.append(f"| {row.network} | {row.engine} | {row.threads} | {row.isa} | {shown(row.baseline_p50_ms, 2)} "
                     f"| {shown(row.p50_ms, 2)} | {shown(row.speedup, 2)}{interval} | {shown(row.first_result_s, 2)} "
                     f"| {shown(row.peak_ratio, 2)} | {shown(row.sqnr_db, 1)} | {scientific(row.max_rel)} "
                     f"| {percent(row.coverage_nodes)} / {percent(row.coverage_time)} |")
    return "\n".join(lines) + "\n"


def thread_counts(text: str) -> List[int]:
    """"1,all" -> [1, cores we may use]; doubles are dropped."""
    cores = len(os.sched_getaffinity(0))
    return sorted({cores if word == "all" else int(word) for word in text.split(",")})


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL", type=Model.parse, help="file, or quoted file and flags")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "ipex-studio"), help="the program to measure")
    parser.add_argument("--threads", default="1,all", type=thread_counts, help="numbers with commas (default 1,all)")
    parser.add_argument("--duration", default=10.0, type=float, metavar="S", help="seconds of measuring per row")
    parser.add_argument("--timeout", default=900.0, type=float, metavar="S", help="most seconds per row")
    parser.add_argument("--check", action="store_true", help="compare with the targets, reload the exports")
    parser.add_argument("-o", default=os.path.join(ROOT, "build", "bench"), metavar="FOLDER", dest="out",
                        help="where bench.json and bench.md go (default build/bench)")
    arguments = parser.parse_args()

    engines: List[Engine] = [IpexStudio(arguments.program, arguments.timeout)]
    rows: List[Row] = []
    for model in arguments.models:
        for threads in arguments.threads:
            for engine in engines:
                print(f"measuring {model.name} with {engine.name}, threads: {threads}", file=sys.stderr)
                rows.append(engine.measure(model, threads, arguments.duration))

    table = markdown(rows)
    os.makedirs(arguments.out, exist_ok=True)
    write(os.path.join(arguments.out, "bench.md"), table)
    report = {"when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
              "rows": [dataclasses.asdict(row) for row in rows]}
    write(os.path.join(arguments.out, "bench.json"), json.dumps(report, indent=1) + "\n")
    print(table, end="")

    if arguments.check:
        lines = [(f"{row.network}, threads {row.threads}", check) for row in rows for check in checks(row)]
        for model in arguments.models:
            for form in ("compiled", "portable"):
                print(f"reloading the {form} export of {model.name}", file=sys.stderr)
                lines.append((model.name, reload_check(model, form, arguments.program, arguments.timeout)))
        print()
        for name, check in lines:
            print(f"{'pass' if check.holds else 'MISS'}  {name}: {check.text}")
        if not all(check.holds for _, check in lines):
            return 1
    return 1 if any(row.error for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
