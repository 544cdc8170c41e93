#!/usr/bin/python3
"""Files that Intel Extension for PyTorch wrote, opened by ipex-studio: its numbers, and times beside it, by turns.

  extension_files.py [NAME …] [--real PYTHON] [--folder FOLDER] [--rounds 8] [--turn 0.3] [--threads 1] [--precedence] [-o page.md]

PYTHON has the extension (default: the environment "rivals" of rivals.sh); it writes the files with extension_networks.py.
Each is inspected, run and exported, and written as stock TorchScript by the program. Then processes load it and compare
results with the extension's: the extension, itself again as a control, the export in stock PyTorch, the package
ipex_studio in its place, and the stock file. All but the last take turns of one length.

Prints a table: the largest difference over the largest value of each, time of the extension over ours with its interval,
and the geometric mean. Where the extension itself is further than 1e-5 from the network in FP64, ours is compared with
that, and the table says so. Exit status 1 where a file is refused, or gives other numbers in FP32 (more than 1e-5).
"""

import argparse
import json
import os
import subprocess
import sys
from typing import Dict, List, Optional

import made_files
import numpy as np
import ratios
import turns
from engines import FILE_ENGINES, environment_of, largest_relative_error, read_arrays

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
OURS = ("optimized", "package", "plain")
TIMED = ("extension", "control", "optimized", "package")
NEAR = 1e-5  # of the largest value, in FP32
PAUSE_S = 0.03


class Judge:
    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.cores = sorted(os.sched_getaffinity(0))[:arguments.threads]

    def program(self, *words: str) -> str:
        precedence = ["chrt", "-f", "1"] if self.arguments.precedence else []
        command = [*precedence, self.arguments.program, *words]
        return made_files.output_of(command, f"ipex-studio {words[0]}", self.arguments.timeout)

    def open(self, name: str) -> Dict[str, str]:
        """Has the program inspect, run and convert the file; what the processes load."""
        stem = os.path.join(self.arguments.folder, name)
        source, inputs = f"{stem}.pt", f"{stem}.in.pt"
        self.program("inspect", source)
        made_files.output_of(["/usr/bin/python3", os.path.join(FOLDER, "prepare.py"), "arguments", f"{stem}.npz", inputs],
                             "inputs", self.arguments.timeout)
        words = [source, "--inputs", inputs, "--force"]
        self.program("run", *words, "-o", f"{stem}.ours.pt", "--threads", str(self.arguments.threads), "--duration", "0.5",
                     "--db", os.path.join(self.arguments.folder, "files.db"), "--json")
        self.program("convert", *words, "-o", f"{stem}.plain.pt")
        named = json.loads(self.program("inspect", f"{stem}.plain.pt", "--json"))["operators"]
        own = [operator for operator in named if not operator.startswith(("aten::", "prim::"))]
        if own:
            raise RuntimeError(f"the stock file names {own[0]}")
        return {"torchscript": source, "plain": f"{stem}.plain.pt", "io": f"{stem}.npz", "compiled": f"{stem}.ours.pt",
                "library": self.arguments.library}

    def own_error(self, files: Dict[str, str]) -> float:
        """How far the extension's results are from the network in FP64; 0 where that is not known."""
        expected = read_arrays(files["io"], "exact")
        return largest_relative_error(read_arrays(files["io"], "out"), expected) if expected else 0.0

    def start(self, engine: str, name: str, files: Dict[str, str], expected: str) -> turns.Worker:
        environment = environment_of(engine)
        python = self.arguments.real if environment == "rivals" else "/usr/bin/python3"
        used = {**files, "torchscript": files["plain"]} if engine == "plain" else files
        job = {"engine": engine, "precision": "file", "files": used, "io": files["io"], "threads": self.arguments.threads,
               "cores": self.cores, "expected": expected}
        log = os.path.join(self.arguments.folder, f"{name}-{engine}.log")
        variables = {"OMP_NUM_THREADS": str(self.arguments.threads), "CUDA_VISIBLE_DEVICES": "",
                     "PYTHONPATH": self.arguments.package if engine == "package" else ""}
        return turns.Worker(python, job, variables, log, self.arguments.timeout)

    def measure(self, name: str, files: Dict[str, str]) -> Dict[str, turns.Measured]:
        results: Dict[str, turns.Measured] = {}
        teams: Dict[str, List[turns.Worker]] = {}
        expected = "exact" if self.own_error(files) > NEAR else "out"
        try:
            for engine in FILE_ENGINES:
                result = results[engine] = turns.Measured(engine)
                worker = self.start(engine, name, files, expected)
                try:
                    for key, value in worker.answer().items():
                        setattr(result, key, value)
                except RuntimeError as problem:
                    result.error = str(problem)
                if result.error or engine not in TIMED:
                    worker.close()
                    continue
                if self.arguments.precedence:
                    worker.take_precedence()
                worker.stop()
                teams[engine] = [worker]
            timed = {engine: results[engine] for engine in teams}
            turns.take_turns(teams, timed, self.arguments.rounds, self.arguments.turn, PAUSE_S)
        finally:
            for team in teams.values():
                team[0].close()
        return results


def over(results: Dict[str, turns.Measured], engine: str) -> Optional[tuple]:
    """Time of the extension over an engine's, with its interval."""
    pair = [results[name] for name in ("extension", engine)]
    if any(result.error or not result.latency_ns for result in pair):
        return None
    return ratios.median_ratio(*((result.latency_ns, result.turn) for result in pair))


def fault_of(name: str, results: Dict[str, turns.Measured]) -> str:
    """What is wrong with a file's results; empty where nothing is."""
    for engine in OURS:
        if results[engine].error:
            return f"{engine}: {results[engine].error}"
        if "-fp32" in name and not results[engine].max_rel <= NEAR:
            return f"{engine}: {results[engine].max_rel:.1e} from the extension"
    return ""


def row_of(name: str, results: Dict[str, turns.Measured]) -> str:
    errors = [f"{results[engine].max_rel:.1e}" for engine in OURS]
    milliseconds = f"{np.median(results['extension'].latency_ns) / 1e6:.3f}" if results["extension"].latency_ns else "–"
    cells = []
    for engine in ("optimized", "package", "control"):
        ratio = over(results, engine)
        cells.append("–" if ratio is None else f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]")
    error = results["extension"].max_rel
    own = f"the extension is {error:.1e} from FP64" if "-fp32" in name and error > NEAR else ""
    return f"| {name} | {' | '.join(errors)} | {milliseconds} | {' | '.join(cells)} | {fault_of(name, results) or own} |"


def parse_arguments() -> argparse.Namespace:
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ipex-studio")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="files of extension_networks.py; default: all")
    parser.add_argument("--real", default=os.path.join(cache, "rivals", "bin", "python"), help="the Python with the extension")
    parser.add_argument("--folder", default=os.path.join(cache, "extension-files"), help="where the files are kept")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "ipex-studio"))
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libipex_studio_ops.so"))
    parser.add_argument("--package", default=os.path.join(ROOT, "build", "python"), help="the folder with ipex_studio")
    parser.add_argument("--rounds", type=int, default=8, help="turns of each (default 8)")
    parser.add_argument("--turn", type=float, default=0.3, help="seconds of a turn (default 0.3)")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300.0, help="most seconds for one step")
    parser.add_argument("--precedence", action="store_true", help="real-time priority during turns, on a busy machine")
    parser.add_argument("-o", "--output", help="where the table goes as well")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    maker = [arguments.real, os.path.join(FOLDER, "extension_networks.py"), arguments.folder]
    subprocess.run([*maker, *arguments.names], env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    judge, bad = Judge(arguments), 0
    gains: Dict[str, List[float]] = {"optimized": [], "package": [], "control": []}
    made = {entry[:-3] for entry in os.listdir(arguments.folder) if entry.endswith(".pt") and entry.count(".") == 1}
    lines = ["| file | export | package | stock file | extension, ms | ÷ export | ÷ package | ÷ itself | |", "|---" * 9 + "|"]
    print("\n".join(lines), flush=True)
    for name in arguments.names or sorted(made):
        try:
            if name not in made:
                raise RuntimeError("the extension does not write it")
            results = judge.measure(name, judge.open(name))
            lines.append(row_of(name, results))
            bad += bool(fault_of(name, results))
            for engine, found in gains.items():
                ratio = over(results, engine)
                found += [ratio[0]] if ratio else []
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as problem:
            lines.append(f"| {name} |" + " – |" * 7 + f" {problem} |")
            bad += 1
        print(lines[-1], flush=True)
    means = ", ".join(f"{engine} {ratios.geometric_mean(found):.3f} over {len(found)}" for engine, found in gains.items() if found)
    lines.append(f"\nGeometric means of time of the extension over: {means}. Files with a fault: {bad}.")
    print(lines[-1])
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
