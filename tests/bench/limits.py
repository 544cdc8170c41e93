"""Where the time of ipex-studio's plans goes, and what the same layers cost as raw oneDNN primitives.

Reads the rows that `ipex-studio run --db` wrote: the frozen graph tells the layers and their sizes, the plan steps what
each of them took. bench_limit (limit.cpp) times the layers alone.
"""

import contextlib
import dataclasses
import json
import math
import os
import re
import sqlite3
import subprocess
from typing import Dict, List, Optional, Tuple

# Groups of plan steps as a reader sees them.
GROUPS = {
    "convolution": ("convolution", "deconvolution", "pointwise_depthwise"),
    "linear": ("linear",),
    "attention": ("attention", "matmul", "softmax"),
    "elementwise, norms, pools": ("pointwise", "layer_norm", "group_norm", "pool", "adaptive_pool", "reduce", "squeeze_excite",
                                  "upsample", "grid_sample", "pad", "cast"),
    "embedding": ("embedding", "embedding_bag", "gather"),
    "reorders, copies": ("reorder", "concat"),
}
OTHER, INTERPRETER, UNATTRIBUTED = "other steps", "interpreter", "unattributed"
COLUMNS = (*GROUPS, OTHER, INTERPRETER, UNATTRIBUTED)
GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds}


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer of the frozen graph, as a line for bench_limit."""

    origin: int
    name: str
    line: str


@dataclasses.dataclass
class Step:
    name: str
    group: str
    ns: int
    flops: int
    origins: List[int]


@dataclasses.dataclass
class Account:
    """Times of one optimized run: its median, and its steps' (step times are taken in a profile of their own)."""

    run_ns: int
    steps: List[Step]

    def share(self, group: str) -> float:
        if group == UNATTRIBUTED:
            return 1 - sum(step.ns for step in self.steps) / self.run_ns
        return sum(step.ns for step in self.steps if step.group == group) / self.run_ns

    def flops(self) -> int:
        return sum(step.flops for step in self.steps)


@dataclasses.dataclass
class Limit:
    """Results of bench_limit: nanoseconds by layer, their sum, and the machine's peaks."""

    ns: Dict[Layer, float]
    best: Dict[Layer, str]
    sum_ns: float
    without_winograd_ns: float
    roofline_ns: float
    peak_gflops: float
    bandwidth_gb_per_s: float


def shape(type_text: str) -> Optional[List[int]]:
    """"Float(1, 3, 224, 224)" -> its sizes; None for anything but a tensor of known sizes."""
    match = re.fullmatch(r"\w+\(([\d, ]+)\)", type_text)
    return [int(size) for size in match.group(1).split(",")] if match else None


def pair(text: str, dims: int = 2) -> List[int]:
    """"[2, 2]" -> [2, 2]; one value is for all dimensions, one dimension becomes the last of two."""
    values = [int(value) for value in re.findall(r"-?\d+", text)]
    return values * dims if len(values) == 1 else values


def convolution_line(kind: str, attributes: Dict[str, str], x: List[int], w: List[int], y: List[int]) -> Optional[str]:
    if len(x) != 4:
        return None
    transposed = attributes.get("transposed") == "True" or "transpose" in kind
    groups = int(attributes.get("groups", "1"))
    if "groups" not in attributes and not transposed:
        groups = x[1] // w[1]
    stride, padding, dilation = (pair(attributes.get(key, default))
                                 for key, default in (("stride", "[1]"), ("padding", "[0]"), ("dilation", "[1]")))
    sizes = [*x, y[1], *w[2:], *stride, *padding, *(d - 1 for d in dilation), groups]
    if transposed:
        return " ".join(map(str, ["deconvolution", *sizes, *y[2:]]))
    return " ".join(map(str, ["convolution", *sizes]))


def product_line(a: List[int], b: List[int], constant: bool) -> Optional[str]:
    """a[…, M, K] · b[…, K, N]."""
    if len(b) < 2 or len(a) < 1:
        return None
    rows = math.prod(a[:-1])
    if len(b) == 2:
        return f"linear {rows} {a[-1]} {b[1]}" if constant else f"matmul 1 {rows} {a[-1]} {b[1]}"
    batch = max(math.prod(a[:-2]), math.prod(b[:-2]))
    return f"matmul {batch} {a[-2]} {a[-1]} {b[-1]}"


def layers_of(graph: dict) -> List[Layer]:
    """Convolutions, linear layers and products of a stored graph; those of unknown sizes are left out."""
    values, layers = graph["values"], []
    for node in graph["nodes"]:
        types = [shape(values[i]["type"]) for i in node["inputs"][:3]]
        results = [shape(values[i]["type"]) for i in node["outputs"][:1]]
        if not node["origins"] or len(types) < 2 or not all(results):
            continue
        kind, attributes = node["kind"].split("::")[-1], dict(node["attributes"])
        constant = values[node["inputs"][1]]["producer"] == -1 and bool(values[node["inputs"][1]]["constant"])
        lines: List[Optional[str]] = []
        if "conv" in kind and types[0] and types[1]:
            lines = [convolution_line(kind, attributes, types[0], types[1], results[0])]
        elif kind == "linear" and types[0] and types[1]:
            lines = [f"linear {math.prod(types[0][:-1])} {types[0][-1]} {types[1][0]}"]
        elif kind == "addmm" and len(types) > 2 and types[1] and types[2]:
            lines = [product_line(types[1], types[2], True)]
        elif kind in ("matmul", "bmm", "mm") and types[0] and types[1]:
            lines = [product_line(types[0], types[1], constant)]
        elif kind == "scaled_dot_product_attention" and all(types):
            q, k, v = types
            lines = [product_line(q, k[:-2] + [k[-1], k[-2]], False), product_line(q[:-1] + [k[-2]], v, False)]
        layers += [Layer(node["origins"][0], node["name"], line) for line in lines if line]
    return layers


def read(database: str, network: str, threads: int, batch_flag: str) -> Tuple[Optional[Account], List[Layer]]:
    """The newest `run` job of the network at this number of threads whose first input begins with `batch_flag`."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        found = db.execute(
            "SELECT run.id, run.p50_ns, snapshot.graph FROM job JOIN model ON model.id = model_id "
            "JOIN run ON run.job_id = job.id JOIN snapshot ON snapshot.id = frozen_id "
            "JOIN job_input ON job_input.job_id = job.id AND job_input.position = 0 "
            "WHERE job.command = 'run' AND variant = 'optimized' AND threads = ? AND path LIKE ? AND description LIKE ? "
            "ORDER BY job.id DESC LIMIT 1", (threads, f"%/{network}.pt", f"{batch_flag}%")).fetchone()
        if found is None:
            return None, []
        run, run_ns, graph = found
        steps = [Step(name, GROUP_OF.get(kind, OTHER) if step >= 0 else INTERPRETER, ns or 0, flops or 0,
                      json.loads(origins or "[]"))
                 for name, kind, step, ns, flops, origins in db.execute(
                     "SELECT t.name, t.kind, t.step, t.p50_ns * COALESCE(s.runs, 1), s.flops, s.origins "
                     "FROM step_stat t LEFT JOIN plan_step s ON s.run_id = t.run_id AND s.step = t.step WHERE t.run_id = ?", (run,))]
    return Account(run_ns, steps), layers_of(json.loads(graph))


def measure(program: str, layers: List[Layer], threads: int, cores: List[int], precedence: bool,
            timeout_s: float) -> Optional[Limit]:
    """Runs bench_limit on the layers; None where there are none. Raises RuntimeError when it fails."""
    if not layers:
        return None
    words = ["taskset", "-c", ",".join(map(str, cores[:threads])), program]
    result = subprocess.run(["chrt", "-f", "1", *words] if precedence else words, text=True, check=False,
                            input="".join(layer.line + "\n" for layer in layers), timeout=timeout_s,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    if result.returncode != 0:
        raise RuntimeError(f"bench_limit: {result.stderr.strip() or f'exit code {result.returncode}'}")
    found = json.loads(result.stdout)
    return Limit(ns={layer: row["ns"] for layer, row in zip(layers, found["layers"])},
                 best={layer: row["best"] for layer, row in zip(layers, found["layers"])},
                 sum_ns=found["sum_ns"], without_winograd_ns=found["without_winograd_ns"],
                 roofline_ns=found["roofline_ns"], peak_gflops=found["peak_gflops"],
                 bandwidth_gb_per_s=found["bandwidth_gb_per_s"])


def widest_gaps(account: Account, limit: Limit, count: int = 5) -> List[Tuple[Step, float, str]]:
    """The steps that lose most against the raw primitives of the layers they came from: (step, raw ns, primitives)."""
    by_origin: Dict[int, List[Layer]] = {}
    for layer in limit.ns:
        by_origin.setdefault(layer.origin, []).append(layer)
    gaps = []
    for step in account.steps:
        layers = [layer for origin in step.origins for layer in by_origin.get(origin, [])]
        if layers:
            gaps.append((step, sum(limit.ns[layer] for layer in layers),
                         ", ".join(sorted({limit.best[layer] for layer in layers}))))
    return sorted(gaps, key=lambda gap: gap[1] - gap[0].ns)[:count]
