"""The Markdown page: medians, ratios with intervals, means, where the time goes, and how far the limit is."""

import dataclasses
import os
import platform
from typing import Dict, List, Optional, Tuple

import numpy as np

import ratios
from engines import ENGINES
from scenarios import Scenario
from turns import Measured

OURS = "optimized"
# Shown beside the others, but no rival: what ipex-studio starts from.
BASELINE = "baseline"
TITLES = {"baseline": "frozen, libtorch 1.13", "torch": "frozen, PyTorch", "onnxruntime": "ONNX Runtime",
          "openvino": "OpenVINO", "ipex": "IPEX", "inductor": "Inductor", OURS: "ipex-studio"}
MAX_REL = 1e-4
WORST_RATIO = 0.97
MEAN_RATIO = 1.10


@dataclasses.dataclass
class Row:
    """One scenario; `report` is what `ipex-studio run --json` printed."""

    scenario: Scenario
    results: List[Measured] = dataclasses.field(default_factory=list)
    report: Optional[dict] = None
    error: Optional[str] = None

    def get(self, engine: str) -> Optional[Measured]:
        return next((r for r in self.results if r.engine == engine and r.latency_ns and not r.error), None)

    def rivals(self) -> List[Measured]:
        """Engines other than ours whose results are right; an engine that computes something else is none."""
        return [r for r in self.results if r.engine not in (OURS, BASELINE) and r.latency_ns and not r.error
                and r.max_rel <= 1e-3]

    def against_best(self) -> Optional[Tuple[str, float, float, float]]:
        """(engine, its median ÷ ours, interval) of the fastest rival."""
        ours, rivals = self.get(OURS), self.rivals()
        if ours is None or not rivals:
            return None
        best = min(rivals, key=lambda r: np.median(r.latency_ns))
        return (best.engine, *ratios.median_ratio((best.latency_ns, best.turn), (ours.latency_ns, ours.turn)))

    def against_baseline(self) -> Optional[Tuple[float, float, float]]:
        ours, base = self.get(OURS), self.get(BASELINE)
        if ours is None or base is None:
            return None
        return ratios.median_ratio((base.latency_ns, base.turn), (ours.latency_ns, ours.turn))


def milliseconds(result: Optional[Measured]) -> str:
    if result is None:
        return "–"
    median = float(np.median(result.latency_ns)) / 1e6
    text = f"{median:.3g}" if median < 100 else f"{median:.0f}"
    return text + ("" if result.max_rel <= MAX_REL else f" (off by {result.max_rel:.0e})")


def interval(ratio: Tuple[float, float, float]) -> str:
    return f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]"


def table(rows: List[Row]) -> List[str]:
    engines = [name for name in ENGINES if any(result.engine == name for row in rows for result in row.results)]
    lines = ["| network | batch | threads | " + " | ".join(TITLES[name] for name in engines)
             + " | frozen ÷ ours | best rival ÷ ours | best rival |",
             "|---|--:|--:|" + "--:|" * len(engines) + "--:|--:|---|"]
    for row in rows:
        scenario = row.scenario
        threads = f"{scenario.instances} × {scenario.threads}" if scenario.instances > 1 else str(scenario.threads)
        head = f"| {scenario.network} | {scenario.batch} | {threads} |"
        if row.error:
            lines.append(f"{head} {row.error} |" + " |" * (len(engines) + 2))
            continue
        best, base = row.against_best(), row.against_baseline()
        lines.append(head + "".join(f" {milliseconds(row.get(name))} |" for name in engines)
                     + f" {interval(base) if base else '–'} | {interval(best[1:]) if best else '–'} "
                     + f"| {TITLES[best[0]] if best else '–'} |")
    return lines


def verdict(rows: List[Row]) -> List[str]:
    """Geometric mean and worst row of one group, against the bars."""
    found = [(row, row.against_best()) for row in rows]
    measured = [(row, best) for row, best in found if best]
    if not measured:
        return []
    mean = ratios.geometric_mean([best[1] for _, best in measured])
    lost = [f"{row.scenario.network} {best[1]:.2f}" for row, best in measured if best[1] < WORST_RATIO]
    text = (f"Geometric mean of best rival ÷ ours: **{mean:.3f}** (bar {MEAN_RATIO:.2f}) over {len(measured)} networks. "
            + (f"Slower than {WORST_RATIO} × the best rival: {', '.join(lost)}." if lost
               else f"None is slower than {WORST_RATIO} × the best rival."))
    return ["", text]


def failures(rows: List[Row]) -> List[str]:
    lines = [f"* {row.scenario.label}, {TITLES[result.engine]}: {result.error}"
             for row in rows for result in row.results if result.error]
    return ["", "Not measured:", "", *lines] if lines else []


def machine(rows: List[Row]) -> str:
    versions: Dict[str, str] = {}
    for row in rows:
        for result in row.results:
            if result.version:
                versions[TITLES[result.engine]] = result.version
    known = next((row.report["machine"] for row in rows if row.report), None)
    cpu = f"{known['cpu']}, {known['isa']}, libtorch {known['libtorch']}, oneDNN {known['onednn']}" if known else ""
    return (f"{cpu or platform.processor()}; {len(os.sched_getaffinity(0))} cores; "
            + ", ".join(f"{name} {version}" for name, version in versions.items()))


def markdown(rows: List[Row], database: str) -> str:
    lines = ["# ipex-studio and other engines", "", machine(rows) + ".", "",
             "FP32, median milliseconds per call. Every engine is a process of its own; within a row they took turns in "
             "one run, all others stopped. In brackets: 95 % intervals, from resampled rounds. A ratio above 1 means "
             "that ipex-studio is faster. Times of different machines do not compare."]
    for mode in ("latency", "offline", "realtime", "sweep"):
        group = [row for row in rows if row.scenario.mode == mode]
        if not group:
            continue
        lines += ["", f"## {mode.capitalize()}", ""]
        for threads in sorted({row.scenario.threads for row in group}):
            part = [row for row in group if row.scenario.threads == threads]
            lines += ["", f"### {threads} thread{'s' if threads > 1 else ''}", ""] + table(part)
            if mode != "sweep":
                lines += verdict(part)
    lines += failures(rows)
    return "\n".join(lines) + "\n"
