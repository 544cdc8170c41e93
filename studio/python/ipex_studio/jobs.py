"""Jobs on model files: what the program ipex-studio does, with results to look at in Python.

    run = ipex_studio.run("model.pt", output="fast.pt", threads=1)
    run                      # a table: times, memory and accuracy of both versions
    run.speedup              # 1.9
    run.profile()            # the time of each operation
    run.open()               # the same in the studio

A model is a path, a Model of load(), or a module of TorchScript. Each keyword is a flag of the program: threads=1 is
--threads 1 (`ipex-studio run --help` explains them). All is recorded in the profile.db that the program uses. What the
program refuses is an ipex_studio.Error with its sentence.
"""
import contextlib
import csv
import os
import pathlib
import re
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import torch

from ._program import Answer, ask, flags_of, open_window, tell
from ._tables import Row, Table
from .errors import Error

_RECORDED = re.compile(r"Recorded as job (\d+)(?: \(runs [\d, ]+\))? in (.+)\.$")
_RUN_COLUMNS = ["variant", "precision", "threads", "p50_ms", "p99_ms", "per_s", "peak_mb", "sqnr_db", "accurate",
                "in_plans"]


class Model:
    """A model file as `ipex-studio inspect` sees it: nothing of it was run."""

    def __init__(self, path: str, facts: Dict[str, Any]) -> None:
        self.path = path
        self.facts = facts

    @property
    def operators(self) -> Table:
        """The operators that its code names, and how often."""
        rows = [{"operator": name, "count": count} for name, count in sorted(self.facts["operators"].items())]
        return Table(["operator", "count"], rows, self.path)

    def module(self) -> torch.jit.ScriptModule:
        """The module, loaded by torch."""
        return torch.jit.load(self.path)

    def open(self):
        """Opens the studio on the file."""
        return open_window(self.path)

    def run(self, **options) -> "Run":
        return run(self, **options)

    def __repr__(self) -> str:
        bytes_, operators = self.facts["file_bytes"], self.facts["operators"]
        findings = len(self.facts["findings"])
        return (f"Model({self.path!r}: {bytes_ / 1e6:.1f} MB, {sum(operators.values())} calls of {len(operators)} operators"
                + (f", {findings} findings)" if findings else ")"))


class Recorded:
    """A job of a database."""

    db: str = ""
    job: int = 0

    def open(self):
        """Opens the studio on the database, which shows its newest job first."""
        return open_window(self.db)

    def report(self, output: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the job as one file: .html, .csv, .json or .trace.json."""
        tell(["report", self.db, "--job", str(self.job), "-o", os.fspath(output)])

    def _remember(self, messages: List[str]) -> None:
        for found in filter(None, map(_RECORDED.search, messages)):
            self.job, self.db = int(found.group(1)), found.group(2)


class Run(Table, Recorded):
    """A job that optimized, verified and measured a model; a row for each version."""

    def __init__(self, answer: Answer, output: Optional[str]) -> None:
        data = answer.data
        super().__init__(_RUN_COLUMNS, [_run_row(run) for run in data["runs"]], _run_caption(data))
        self.data = data  # the program's JSON object
        self.messages = answer.messages
        self.output = output  # the file that was written, or None
        self._remember(answer.messages)

    @property
    def speedup(self) -> Optional[float]:
        """Median time of the baseline over that of the optimized version."""
        return self.data.get("speedup_p50")

    @property
    def speedup_ci95(self) -> Optional[Tuple[float, float]]:
        """Its 95 % interval."""
        interval = self.data.get("speedup_ci95")
        return None if interval is None else (interval[0], interval[1])

    def profile(self) -> "Profile":
        """The time of each operation of the optimized version."""
        return Profile(self)

    def module(self) -> torch.jit.ScriptModule:
        """The module that was written, loaded by torch."""
        if self.output is None:
            raise Error("Nothing was written: give run() an output.", 2)
        return torch.jit.load(self.output)


class Profile(Table, Recorded):
    """The steps of a job's last version, slowest first."""

    def __init__(self, of: Run) -> None:
        self.run = of
        self.db, self.job = of.db, of.job
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "steps.csv")
            self.report(path)
            with open(path, encoding="utf-8", newline="") as file:
                steps = [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]
        last = max((step["run"] for step in steps), default=None)
        rows = [{**step, "p50_ms": step["p50_ns"] / 1e6} for step in steps if step["run"] == last]
        super().__init__(["name", "kind", "kernel", "dst_shape", "p50_ms", "share", "gflops_per_s"],
                         sorted(rows, key=lambda row: -row["p50_ms"]), of.caption)


class Verification(Table):
    """Errors of a model's results against those of its original, a row for each result; true if all are in bounds."""

    def __init__(self, data: Dict[str, Any]) -> None:
        columns = ["output", "max_abs", "max_rel", "cosine", "sqnr_db", "pass"]
        rows = [{**row, "output": "all" if row["output"] < 0 else row["output"]} for row in data["accuracy"]]
        super().__init__(columns, rows, data["accuracy"][0]["text"] if data["accuracy"] else "")
        self.data = data

    @property
    def passed(self) -> bool:
        return bool(self.data["pass"])

    __bool__ = passed.fget


class Comparison(Table):
    """Two recorded runs side by side, a row for each operation."""

    def __init__(self, data: Dict[str, Any], db: str) -> None:
        low, high = data["ratio_ci95"]
        caption = f"{data['ratio_p50']:.3g} times as fast, 95 % interval {low:.3g}–{high:.3g}"
        super().__init__(["name", "kind", "a_ms", "b_ms", "delta_ms"], data["rows"], caption)
        self.data = data
        self.db = db

    @property
    def ratio(self) -> float:
        """Median time of the first over that of the second."""
        return self.data["ratio_p50"]

    def open(self):
        """Opens the studio on the database."""
        return open_window(self.db)


AnyModel = Union[str, "os.PathLike[str]", Model, torch.jit.ScriptModule]


def load(path: Union[str, "os.PathLike[str]"]) -> Model:
    """Inspects a model file without running anything from it. Raises Error if it is damaged or not there."""
    path = os.fspath(path)
    return Model(path, ask(["inspect", path], answers=(0, 3)).data)


def run(model: AnyModel, output: Union[str, "os.PathLike[str]", None] = None, inputs: Any = None, **options) -> Run:
    """Optimizes, verifies and measures a model; writes it to `output` if its results are right.

    `inputs`: texts as --input takes them ("x:1x3x224x224"), a path of a file of arguments, or tensors; else guessed.
    """
    return _run("run", model, output, inputs, options)


def export(model: AnyModel, output: Union[str, "os.PathLike[str]"], inputs: Any = None, form: str = "compiled",
           **options) -> Run:
    """Optimizes and verifies a model and writes it, "compiled" or "portable", without measuring it for long."""
    return _run("run", model, output, inputs, {"form": form, "iterations": 3, "warmup": 0, **options})


def quantize(model: AnyModel, output: Union[str, "os.PathLike[str]"], inputs: Any = None, **options) -> Run:
    """Writes a model in INT8, from data=PATH, or from recipe=: a file, "dynamic" or "weight-only"."""
    return _run("quantize", model, output, inputs, options)


def tune(model: AnyModel, output: Union[str, "os.PathLike[str]"], data: Union[str, "os.PathLike[str]"],
         inputs: Any = None, **options) -> Run:
    """Finds the fastest precision of each operation that keeps the accuracy on `data`, and writes the model."""
    return _run("tune", model, output, inputs, {"data": os.fspath(data), **options})


def profile(model: AnyModel, inputs: Any = None, **options) -> Profile:
    """Measures a model and returns the time of each operation; `run` of it holds the whole."""
    return _run("bench", model, None, inputs, options).profile()


def verify(model: AnyModel, optimized: AnyModel, inputs: Any = None, **options) -> Verification:
    """Compares the results of an optimized model with those of its original, in double precision."""
    with _path_of(model) as old, _path_of(optimized) as new, _inputs_of(inputs) as given:
        return Verification(ask(["verify", old, new, *flags_of({**given, **options})], answers=(0, 4)).data)


def compare(first: Union[Run, int], second: Union[Run, int], db: Optional[str] = None) -> Comparison:
    """Sets two runs side by side: the optimized versions of two jobs, or runs of a database by their numbers."""
    databases = {part.db for part in (first, second) if isinstance(part, Run)} | ({db} if db else set())
    if len(databases) != 1:
        raise Error("compare() takes runs of one database: record both with the same db=, or name it.", 2)
    (database,) = databases
    numbers = [str(_run_number(part, database)) for part in (first, second)]
    return Comparison(ask(["compare", database, *numbers]).data, database)


def _run(command: str, model: AnyModel, output, inputs, options: Dict[str, Any]) -> Run:
    output = None if output is None else os.fspath(output)
    with _path_of(model) as path, _inputs_of(inputs) as given:
        flags = flags_of({**given, **options}) + ([] if output is None else ["-o", output])
        return Run(ask([command, path, *flags]), output)


@contextlib.contextmanager
def _path_of(model: AnyModel) -> Iterator[str]:
    if isinstance(model, torch.jit.ScriptModule):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, re.sub(r"\W", "_", model.original_name) + ".pt")
            torch.jit.save(model, path)
            yield path
    elif isinstance(model, torch.nn.Module):
        raise TypeError("Jobs take files and modules of TorchScript: torch.jit.trace or torch.jit.script it first.")
    else:
        yield model.path if isinstance(model, Model) else os.fspath(model)


@contextlib.contextmanager
def _inputs_of(inputs: Any) -> Iterator[Dict[str, Any]]:
    """The option that gives the inputs."""
    if inputs is None:
        yield {}
    elif isinstance(inputs, pathlib.PurePath):
        yield {"inputs": os.fspath(inputs)}
    elif isinstance(inputs, str):
        yield {"inputs": inputs} if os.path.exists(inputs) else {"input": [inputs]}
    elif isinstance(inputs, (list, tuple)) and inputs and all(isinstance(part, str) for part in inputs):
        yield {"input": inputs}
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "inputs.pt")
            torch.save(inputs if isinstance(inputs, (list, tuple, dict)) else [inputs], path)
            yield {"inputs": path}


def _run_row(run: Dict[str, Any]) -> Row:
    latency, accuracy = run["latency_ms"], run["accuracy"]
    optimized = run["variant"] != "baseline"
    return {"variant": run["variant"], "precision": run["precision"], "threads": run["threads"], "p50_ms": latency["p50"],
            "p99_ms": latency["p99"], "per_s": run["throughput_per_s"], "peak_mb": run["peak_rss_mb"],
            "sqnr_db": accuracy["sqnr_db"] if optimized and accuracy else None,
            "accurate": accuracy["pass"] if accuracy else None, "in_plans": run["coverage"]["time"] if optimized else None}


def _run_caption(data: Dict[str, Any]) -> str:
    machine = data["machine"]
    caption = f"{os.path.basename(data['model']['path'])} on {machine['cpu']} {machine['isa']}"
    if data.get("speedup_p50"):
        low, high = data["speedup_ci95"]
        caption += f": {data['speedup_p50']:.3g} times as fast, 95 % interval {low:.3g}–{high:.3g}"
    noise = data["noise"]["text"]
    return f"{caption} ({noise})" if noise else caption


def _run_number(part: Union[Run, int], db: str) -> int:
    if not isinstance(part, Run):
        return int(part)
    import sqlite3
    connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
    with contextlib.closing(connection):
        (number,) = connection.execute("SELECT max(id) FROM run WHERE job_id = ?", (part.job,)).fetchone()
    return number


def _number(text: Optional[str]) -> Any:
    """A cell of a CSV file: None if it is empty, a number if it is one."""
    if text is None or text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
