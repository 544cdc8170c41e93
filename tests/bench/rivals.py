#!/usr/bin/python3
"""Compares ipex-studio with other engines on the same networks, inputs and threads, interleaved within one run.

Called by rivals.sh, which makes the other engines' environments. Results: a Markdown page, and every sample in a profile
database that ipex-studio opens.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from typing import Callable, Dict, List

import limits
import made_files
import page
import rivals_database
import turns
from engines import BY_PRECISION, ENGINES, environment_of
from scenarios import NETWORKS, PROBES, REALTIME_CORES, Scenario, scenarios

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
# Files that only some engines read, and the environment that each is made in.
MADE_FROM_MODULE = {"onnx": "rivals", "exported": "rivals", "exported_bf16": "rivals", "litert": "rivals-litert"}
SUFFIXES = {"onnx": ".onnx", "exported": ".pt2", "exported_bf16": "-bf16.pt2", "litert": ".tflite"}
READ_BY = {"onnx": ("onnxruntime", "openvino", "openvino_2026_3"), "exported": ("aotinductor",),
           "exported_bf16": ("aotinductor",), "litert": ("litert",)}
# INT8 models: (kind, the kind of file that they are made from, suffix, engines).
QUANTIZED_FILES = (("qdq", "onnx", ".onnx", ("onnxruntime",)), ("nncf", "onnx", ".openvino", ("openvino", "openvino_2026_3")),
                   ("litert_int8", "litert", ".tflite", ("litert",)))
# Our engines, and the kind of file that each loads. "optimized" comes last, so its records are the newest.
EXPORTS = {"exact": "exact", "optimized": "compiled"}
PAUSE_S = 0.03
# With random weights labels mean nothing and results soon lose their direction, so cosines are shown beside the times.
MIN_COSINE = "1e-6"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.debian_python = self.python("debian")
        self.rivals_python = self.python("rivals")
        self.models = os.path.join(arguments.cache, "models")
        self.files = os.path.join(arguments.cache, "rivals-files")
        self.database = os.path.join(arguments.out, "rivals.db")
        for folder in (self.models, self.files, arguments.out):
            os.makedirs(folder, exist_ok=True)
        self.cores = sorted(os.sched_getaffinity(0))

    def python(self, environment: str) -> str:
        """The interpreter of an environment."""
        if environment == "debian":
            return "/usr/bin/python3"
        return os.path.join(self.arguments.environments, environment, "bin", "python")

    # Files: made once, kept in the cache.

    def command(self, words: List[str], what: str) -> str:
        return made_files.output_of(words, what, self.arguments.timeout)

    def made(self, path: str, interpreter: str, script: str, *words: str) -> str:
        return made_files.made(path, [interpreter, "-B", script, *words], self.arguments.timeout)

    def make_for(self, engines: List[str], files: Dict[str, str], kind: str, path: str, environment: str,
                 *words: str) -> Dict[str, str]:
        """Makes a file that these engines read, by a command of prepare.py; returns the errors by engine."""
        try:
            files[kind] = self.made(path, self.python(environment), os.path.join(FOLDER, "prepare.py"), *words, "OUT")
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            return {engine: str(problem) for engine in engines}
        return {}

    def prepare(self, scenario: Scenario) -> Dict[str, str]:
        name, batch = scenario.network, scenario.batch
        prepare = os.path.join(FOLDER, "prepare.py")
        exporter = os.path.join(ROOT, "samples", "export_models.py")
        # The recording is for bench.py, which shares this cache.
        model = os.path.join(self.models, f"{name}.pt")
        self.made(model, self.debian_python, exporter, name, "-o", "OUT", "--io", model[:-3] + ".io.pt")
        stem = os.path.join(self.files, f"{name}-b{batch}")
        files = {"torchscript": model, "library": self.arguments.library}
        files["io"] = self.made(f"{stem}-fp64.npz", self.debian_python, prepare, "io", name, model, str(batch), "OUT")
        return files

    def convert(self, scenario: Scenario, files: Dict[str, str]) -> Dict[str, str]:
        """Makes what the engines load that do not read TorchScript; returns the errors by engine."""
        prepare, name, errors = os.path.join(FOLDER, "prepare.py"), scenario.network, {}
        stem = os.path.join(self.files, f"{name}-b{scenario.batch}")
        if all(environment_of(engine) == "debian" for engine in self.arguments.engines):
            return errors
        files["module"] = self.made(os.path.join(self.files, f"{name}.pth"), self.rivals_python, prepare, "module",
                                    name, files["torchscript"], "OUT")
        for kind, environment in MADE_FROM_MODULE.items():
            engines = [engine for engine in READ_BY[kind] if engine in self.arguments.engines]
            if not engines or kind == ("exported" if scenario.precision == "bf16" else "exported_bf16"):
                continue
            errors.update(self.make_for(engines, files, kind, stem + SUFFIXES[kind], environment, kind, name,
                                        files["module"], files["io"]))
        return errors

    def compile_ahead(self, scenario: Scenario, files: Dict[str, str]) -> Dict[str, str]:
        """Compiles what AOTInductor runs; returns the errors by engine."""
        program = files.get("exported_bf16" if scenario.precision == "bf16" else "exported")
        if program is None:
            return {}
        stem = os.path.join(self.files, f"{scenario.network}-b{scenario.batch}-{scenario.precision}-{scenario.threads}")
        return self.make_for(["aotinductor"], files, "aotinductor", f"{stem}-aot.pt2", environment_of("aotinductor"),
                             "aotinductor", program, str(scenario.threads))

    def quantize(self, scenario: Scenario, files: Dict[str, str]) -> Dict[str, str]:
        """Makes the calibration samples and the other engines' INT8 models; returns the errors by engine."""
        prepare, stem = os.path.join(FOLDER, "prepare.py"), os.path.join(self.files, f"{scenario.network}-b{scenario.batch}")
        files["samples"] = self.made(f"{stem}-samples.npz", self.debian_python, prepare, "samples", scenario.network,
                                     files["torchscript"], str(scenario.batch), "OUT")
        files["recording"] = self.made(f"{stem}-samples.io.pt", self.debian_python, prepare, "recording",
                                       files["samples"], "OUT")
        errors = {}
        for kind, source, suffix, engines in QUANTIZED_FILES:
            if set(engines) & set(self.arguments.engines) and source in files:
                errors.update(self.make_for(engines, files, kind, f"{stem}-int8{suffix}", MADE_FROM_MODULE[source], kind,
                                            files[source], files["samples"]))
        return errors

    def flags(self, scenario: Scenario) -> List[str]:
        """--input DESCRIPTION … for ipex-studio."""
        return shlex.split(self.command([self.debian_python, "-B", os.path.join(FOLDER, "prepare.py"), "flags",
                                         scenario.network, str(scenario.batch)], "inputs"))

    def export(self, scenario: Scenario, files: Dict[str, str], engine: str) -> dict:
        """Runs `ipex-studio run`: the export that takes part as `engine`, and the program's report."""
        kind = EXPORTS[engine]
        out = os.path.join(self.files, f"{scenario.network}-{kind}.pt")
        if engine == "exact":
            # A database of its own, so that no choice made with Winograd is found or replaced.
            more = ["--no-winograd", "--iterations", "2", "--db", os.path.join(self.arguments.out, "rivals-exact.db")]
        else:
            more = ["--duration", str(self.arguments.profile), "--db", self.database]
        if scenario.precision != "fp32":
            out = os.path.join(self.files, f"{scenario.network}-{scenario.precision}.pt")
            more += ["--precision", scenario.precision, "--min-cosine", MIN_COSINE]
            more += ["--data", files["recording"]] if scenario.precision == "int8" else []
        precedence = ["chrt", "-f", "1"] if self.arguments.precedence else []
        report = json.loads(self.command(
            [*precedence, self.arguments.program, "run", files["torchscript"], "-o", out, "--force", "--json", "--threads",
             str(scenario.threads), *more, *self.flags(scenario), *self.arguments.studio_flags], "ipex-studio run"))
        files[kind] = out
        return report

    def exports(self, row: page.Row, files: Dict[str, str]) -> Dict[str, str]:
        """Makes the exports that our engines load; returns the errors by engine."""
        errors = {}
        for engine in EXPORTS:
            if engine in self.arguments.engines:
                try:
                    report = self.export(row.scenario, files, engine)
                    if engine == page.OURS:
                        row.report = report
                except (RuntimeError, subprocess.TimeoutExpired) as problem:
                    errors[engine] = str(problem)
        return errors

    def explain(self, row: page.Row) -> None:
        """The shares of our time, and the cost of the layers alone."""
        scenario = row.scenario
        first = self.flags(scenario)[1].split(":")[1]
        row.account, layers = limits.read(self.database, scenario.network, scenario.threads, first)
        if scenario.instances == 1 and scenario.mode != "sweep" and self.arguments.limit:
            with turns.held(self.arguments.lock):
                row.limit = limits.measure(self.arguments.limit, layers, scenario.threads, self.cores,
                                           self.arguments.precedence, self.arguments.timeout)

    # Turns of the engines.

    def start(self, engine: str, scenario: Scenario, files: Dict[str, str]) -> List[turns.Worker]:
        interpreter = self.python(environment_of(engine))
        team = []
        for instance in range(scenario.instances):
            job = {"engine": engine, "precision": scenario.precision, "files": files, "io": files["io"], "threads": scenario.threads,
                   "cores": self.cores[instance * scenario.threads:][:scenario.threads]}
            log = os.path.join(self.arguments.out, "logs", f"{scenario.label}-{engine}-{instance}.log")
            os.makedirs(os.path.dirname(log), exist_ok=True)
            environment = {"OMP_NUM_THREADS": str(scenario.threads), "CUDA_VISIBLE_DEVICES": "",
                           "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.arguments.cache, "inductor"),
                           "PYTHONPATH": os.path.join(ROOT, "samples"), "PYTHONDONTWRITEBYTECODE": "1"}
            team.append(turns.Worker(interpreter, job, environment, log, self.arguments.timeout))
        return team

    def measure(self, scenario: Scenario, files: Dict[str, str], errors: Dict[str, str]) -> List[turns.Measured]:
        results: Dict[str, turns.Measured] = {}
        teams: Dict[str, List[turns.Worker]] = {}
        try:
            for engine in self.arguments.engines:
                result = results[engine] = turns.Measured(engine)
                if engine in errors:
                    result.error = errors[engine]
                    say(f"  {engine}: {result.error}")
                    continue
                team = teams[engine] = self.start(engine, scenario, files)
                try:
                    for worker in team:
                        ready = worker.answer()
                        for key, value in ready.items():
                            setattr(result, key, value)
                        if self.arguments.precedence:
                            worker.take_precedence()
                        worker.stop()
                except RuntimeError as problem:
                    result.error = str(problem)
                    for worker in teams.pop(engine):
                        worker.close()
                say(f"  {engine}: {result.error or f'ready after {(result.load_ns + result.first_run_ns) / 1e9:.1f} s'}")
            with turns.held(self.arguments.lock):
                turns.take_turns(teams, results, self.arguments.rounds, self.arguments.turn, PAUSE_S)
        finally:
            for team in teams.values():
                for worker in team:
                    worker.close()
        return list(results.values())

    def run(self, scenario: Scenario) -> page.Row:
        say(f"{scenario.label}")
        row = page.Row(scenario)
        try:
            files = self.prepare(scenario)
            errors = self.convert(scenario, files)
            errors.update(self.compile_ahead(scenario, files))
            if scenario.precision == "int8":
                errors.update(self.quantize(scenario, files))
            errors.update(self.exports(row, files))
            row.results = self.measure(scenario, files, errors)
            if row.report:
                self.explain(row)
            rivals_database.record(self.database, scenario, row.results, self.arguments.rounds)
        except (RuntimeError, OSError, subprocess.TimeoutExpired) as problem:
            row.error = str(problem)
            say(f"  {problem}")
        return row


def names(allowed) -> Callable[[str], List[str]]:
    def parse(text: str) -> List[str]:
        chosen = text.split(",")
        for name in chosen:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"{name} is not one of {', '.join(allowed)}")
        return chosen
    return parse


def parse_arguments() -> argparse.Namespace:
    cores = len(os.sched_getaffinity(0))
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "ipex-studio")
    every = [*NETWORKS, *PROBES]
    parser = argparse.ArgumentParser(prog="rivals.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=names(every), default=list(NETWORKS), metavar="NAME,…",
                        help=f"which of {', '.join(every)}; default: all but the last {len(PROBES)}")
    parser.add_argument("--probes", action="store_true", help=f"the {len(PROBES)} families that nothing was made for")
    parser.add_argument("--modes", type=names(("latency", "offline", "realtime", "sweep")), metavar="MODE,…",
                        default=["latency", "offline", "realtime"],
                        help="latency: smallest batch; offline: large batch; realtime: smallest batch, one instance per "
                             f"{REALTIME_CORES} cores; sweep: batches 1 to 64 (default latency,offline,realtime)")
    parser.add_argument("--threads", default="1,all", metavar="N,…", help="of latency and offline (default 1,all)")
    parser.add_argument("--realtime-cores", type=int, default=REALTIME_CORES, metavar="N", help="cores per instance")
    parser.add_argument("--precision", choices=tuple(BY_PRECISION), default="fp32",
                        help="fp32; bf16: each engine's own mixed precision; int8: each engine's own post-training "
                             "quantization (default fp32)")
    parser.add_argument("--engines", type=names(tuple(ENGINES)), metavar="NAME,…",
                        help=f"which of {', '.join(ENGINES)}; default: all that know the precision")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="turns of each engine (default 20)")
    parser.add_argument("--turn", type=float, default=0.3, metavar="S", help="length of a turn (default 0.3)")
    parser.add_argument("--profile", type=float, default=3.0, metavar="S", help="length of ipex-studio's own profile")
    parser.add_argument("--quick", action="store_true", help="8 rounds, short profile: a first impression")
    parser.add_argument("--lock", metavar="FILE", help="hold this lock while timing, where others use the machine")
    parser.add_argument("--precedence", action="store_true", help="real-time priority during turns, on a busy machine")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="most seconds for one step")
    parser.add_argument("--studio-flags", type=shlex.split, default=[], metavar="FLAGS",
                        help="more flags for `ipex-studio run`, quoted")
    parser.add_argument("--program", default=os.path.join(ROOT, "build", "ipex-studio"))
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "libipex_studio_ops.so"))
    parser.add_argument("--limit", metavar="PROGRAM", help="bench_limit, which times raw primitives; rivals.sh builds it")
    parser.add_argument("--cache", default=cache, metavar="FOLDER", help="models and the files made from them")
    parser.add_argument("--environments", default=cache, metavar="FOLDER",
                        help="where the other engines' Python environments are")
    parser.add_argument("--list-environments", action="store_true",
                        help="only print the names of the Python environments that these arguments take")
    parser.add_argument("-o", dest="out", default=os.path.join(ROOT, "build", "bench"), metavar="FOLDER",
                        help="where rivals.md and rivals.db go (default build/bench)")
    arguments = parser.parse_args()
    known = BY_PRECISION[arguments.precision]
    arguments.engines = [name for name in arguments.engines or known if name in known]
    if arguments.probes:
        arguments.networks = list(PROBES)
    if arguments.quick:
        arguments.rounds, arguments.profile = 8, 1.0
    arguments.threads = sorted({cores if word == "all" else int(word) for word in arguments.threads.split(",")})
    return arguments


def main() -> int:
    arguments = parse_arguments()
    if arguments.list_environments:
        # Every other environment's files are made from what "rivals" makes.
        others = {environment_of(engine) for engine in arguments.engines} - {"debian"}
        print(*sorted(others | {"rivals"} if others else others))
        return 0
    bench = Bench(arguments)
    rows: List[page.Row] = []
    todo = scenarios(arguments.networks, arguments.modes, arguments.threads, len(bench.cores),
                     arguments.realtime_cores, arguments.precision)
    suffix = "" if arguments.precision == "fp32" else f"-{arguments.precision}"
    path = os.path.join(arguments.out, f"rivals{suffix}.md")
    for scenario in todo:
        rows.append(bench.run(scenario))
        # The page is written again after each scenario, so that no measurement is lost.
        with open(path, "w", encoding="utf-8") as file:
            file.write(page.markdown(rows))
        page.write_charts(rows, arguments.out)
    print(page.markdown(rows), end="")
    say(f"Written: {path} and {bench.database}")
    return 1 if any(row.error or any(result.error for result in row.results) for row in rows) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (OSError, ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
