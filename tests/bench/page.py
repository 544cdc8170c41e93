"""The Markdown page: medians, ratios with intervals, means, where the time goes, and how far the limit is."""

import dataclasses
import os
import platform
from typing import Dict, List, Optional, Tuple

import numpy as np

import chart
import limits
import ratios
from engines import ENGINES
from scenarios import Scenario
from turns import Measured

OURS = "optimized"
# Shown beside the others, but no rival: the model that ipex-studio starts from.
BASELINE = "baseline"
EXACT = "exact"
TITLES = {"baseline": "frozen, Debian's PyTorch", "torch": "frozen, PyTorch", "onnxruntime": "ONNX Runtime",
          "openvino": "OpenVINO", "openvino_2026_3": "OpenVINO 2026.3", "litert": "LiteRT", "ipex": "IPEX",
          "inductor": "Inductor", "aotinductor": "AOTInductor", EXACT: "ipex-studio, no Winograd", OURS: "ipex-studio"}
MODES = {"latency": "Latency: one instance, the smallest batch", "offline": "Offline: one instance, a large batch",
         "realtime": "Realtime: as many instances as there are cores for, the smallest batch"}
MAX_REL = 1e-4
# Least cosine of a right result, and of one that is near enough to be a rival's.
RIGHT_COSINE = {"bf16": 0.999, "int8": 0.99}
NEAR_COSINE = {"bf16": 0.99, "int8": 0.9}
PRECISIONS = {"fp32": "FP32",
              "bf16": "BF16 by each engine's own mixed precision, beside the frozen model in FP32",
              "int8": "INT8 by each engine's own post-training quantization (what it leaves in floating point is FP32), "
                      "beside the frozen model in FP32"}
# Rules for results, compared with eager in FP64.
RULES = {"fp32": "max |Δ| / max |eager in FP64| at most 1e-4", "bf16": "cosine with eager in FP64 at least 0.999",
         "int8": "cosine with eager in FP64 at least 0.99"}
WORST_RATIO = 0.97
MEAN_RATIO = 1.10


def is_right(result: Measured, precision: str) -> bool:
    return result.max_rel <= MAX_REL if precision == "fp32" else result.cosine >= RIGHT_COSINE[precision]


@dataclasses.dataclass
class Row:
    """One scenario; `report` is what `ipex-studio run --json` printed."""

    scenario: Scenario
    results: List[Measured] = dataclasses.field(default_factory=list)
    report: Optional[dict] = None
    account: Optional[limits.Account] = None
    limit: Optional[limits.Limit] = None
    error: Optional[str] = None

    def get(self, engine: str) -> Optional[Measured]:
        return next((r for r in self.results if r.engine == engine and r.latency_ns and not r.error), None)

    def rivals(self) -> List[Measured]:
        """Engines other than ours whose results are right, or nearly: an engine that computes something else is no rival.
        In BF16 and INT8 an engine about as near as ours counts too: with random weights none is near."""
        ours, precision = self.get(OURS), self.scenario.precision

        def near(r: Measured) -> bool:
            if precision == "fp32":
                return r.max_rel <= 1e-3
            least = NEAR_COSINE[precision]
            return r.cosine >= (min(least, ours.cosine - 0.1) if ours else least)
        return [r for r in self.results if r.engine not in (OURS, EXACT, BASELINE) and r.latency_ns and not r.error
                and near(r)]

    def against_best(self, engine: str = OURS) -> Optional[Tuple[str, float, float, float]]:
        """(rival, its median ÷ ours, interval) of the fastest rival."""
        ours, rivals = self.get(engine), self.rivals()
        if ours is None or not rivals:
            return None
        best = min(rivals, key=lambda r: np.median(r.latency_ns))
        return (best.engine, *ratios.median_ratio((best.latency_ns, best.turn), (ours.latency_ns, ours.turn)))

    def against_baseline(self) -> Optional[Tuple[float, float, float]]:
        ours, base = self.get(OURS), self.get(BASELINE)
        if ours is None or base is None:
            return None
        return ratios.median_ratio((base.latency_ns, base.turn), (ours.latency_ns, ours.turn))


def milliseconds(result: Optional[Measured], precision: str = "fp32") -> str:
    if result is None:
        return "–"
    median = float(np.median(result.latency_ns)) / 1e6
    text = f"{median:.3g}" if median < 100 else f"{median:.0f}"
    if is_right(result, precision):
        return text
    return text + (f" (off by {result.max_rel:.0e})" if precision == "fp32" else f" (cosine {result.cosine:.2f})")


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
        lines.append(head + "".join(f" {milliseconds(row.get(name), scenario.precision)} |" for name in engines)
                     + f" {interval(base) if base else '–'} | {interval(best[1:]) if best else '–'} "
                     + f"| {TITLES[best[0]] if best else '–'} |")
    return lines


def error(result: Optional[Measured], precision: str) -> str:
    if result is None:
        return "–"
    text = f"{result.max_rel:.1e}" if precision == "fp32" else f"{result.cosine:.5f}"
    return text if is_right(result, precision) else f"**{text}**"


def accuracy(rows: List[Row]) -> List[str]:
    """How far each engine's results are from eager's in FP64, per network and batch."""
    known = list({(row.scenario.network, row.scenario.batch): row for row in rows if not row.error}.values())
    if not known:
        return []
    engines = [name for name in ENGINES if any(row.get(name) for row in known)]
    precision = known[0].scenario.precision
    what = "max |Δ| / max |expected|" if precision == "fp32" else "cosine"
    lines = ["", "## Accuracy", "", f"Against the network in FP64, one forward: {what}, the worst output. Bold breaks the rule ({RULES[precision]}).",
             "", "| network | batch | " + " | ".join(TITLES[name] for name in engines) + " |",
             "|---|--:|" + "--:|" * len(engines)]
    return lines + [f"| {row.scenario.network} | {row.scenario.batch} |"
                    + "".join(f" {error(row.get(name), precision)} |" for name in engines) for row in known]


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
    exact = [row.against_best(EXACT) for row in rows]
    if any(exact):
        text += f" Without Winograd the mean is **{ratios.geometric_mean([best[1] for best in exact if best]):.3f}**."
    return ["", text]


def heading(scenario: Scenario) -> str:
    return f"{scenario.network}, batch {scenario.batch}, {scenario.threads} thread{'s' if scenario.threads > 1 else ''}"


def accounts(rows: List[Row]) -> List[str]:
    """Where ipex-studio's time goes, and how far the limit is."""
    known = [row for row in rows if row.account and row.get(OURS)]
    if not known:
        return []
    lines = ["", "## Where the time goes", "",
             "Shares of the median run by kind of step, from ipex-studio's own profile; *unattributed* is what the steps do "
             "not explain. GFLOP/s counts what the plan's steps compute, beside the machine's peak of fused "
             "multiply-adds on as many threads.", "",
             "| network, batch, threads | " + " | ".join(limits.COLUMNS) + " | GFLOP/s | of peak |",
             "|---|" + "--:|" * (len(limits.COLUMNS) + 2)]
    for row in known:
        rate = row.account.flops() / float(np.median(row.get(OURS).latency_ns))
        peak = f"{100 * rate / row.limit.peak_gflops:.0f} %" if row.limit else "–"
        shares = "".join(f" {100 * row.account.share(column):.1f} % |" for column in limits.COLUMNS)
        lines.append(f"| {heading(row.scenario)} |{shares} {rate:.1f} | {peak} |")
    return lines


def limit_table(rows: List[Row]) -> List[str]:
    known = [row for row in rows if row.limit and row.get(OURS)]
    if not known:
        return []
    lines = ["", "## How far the limit is", "",
             "*Raw primitives*: the fastest oneDNN primitive of each convolution, linear layer and product, one after the "
             "other with cold weights and two reused buffers for activations – with the library's Winograd and without. "
             "Other steps are not in it. *Roofline*: for each of these layers the longer of its arithmetic at the measured "
             "peak and reading its weights at the measured bandwidth.", "",
             "| network, batch, threads | ipex-studio ms | raw primitives ms | without Winograd ms | roofline ms "
             "| ours ÷ raw | ours ÷ without Winograd | peak GFLOP/s | GB/s |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in known:
        ours, limit = float(np.median(row.get(OURS).latency_ns)), row.limit
        lines.append(f"| {heading(row.scenario)} | {ours / 1e6:.2f} | {limit.sum_ns / 1e6:.2f} "
                     f"| {limit.without_winograd_ns / 1e6:.2f} | {limit.roofline_ns / 1e6:.2f} | {ours / limit.sum_ns:.2f} "
                     f"| {ours / limit.without_winograd_ns:.2f} | {limit.peak_gflops:.0f} | {limit.bandwidth_gb_per_s:.1f} |")
    lines += ["", "Steps that lose most against the raw primitives of their layers:", ""]
    for row in known:
        if row.account:
            gaps = [f"{step.name} {step.ns / 1e6:.3f} ms, raw {raw / 1e6:.3f} ({how})"
                    for step, raw, how in limits.widest_gaps(row.account, row.limit) if step.ns > 1.05 * raw]
            lines.append(f"* {heading(row.scenario)}: {'; '.join(gaps) or 'none'}")
    return lines


def sweep(rows: List[Row]) -> List[str]:
    """Throughput over the batch, as a table: inputs per second."""
    known = [row for row in rows if row.scenario.mode == "sweep" and row.results]
    lines: List[str] = []
    for network in dict.fromkeys(row.scenario.network for row in known):
        part = [row for row in known if row.scenario.network == network]
        engines = [name for name in ENGINES if any(row.get(name) for row in part)]
        lines += ["", f"### {network}, {part[0].scenario.threads} threads: inputs per second", "",
                  "| batch | " + " | ".join(TITLES[name] for name in engines) + " |", "|--:|" + "--:|" * len(engines)]
        for row in part:
            rates = [row.get(name) and 1e9 * row.scenario.batch / float(np.median(row.get(name).latency_ns)) for name in engines]
            lines.append(f"| {row.scenario.batch} | " + " | ".join(f"{rate:.4g}" if rate else "–" for rate in rates) + " |")
        lines += ["", f"![throughput over batch](sweep-{network}.svg)"]
    return ["", "## Throughput over the batch", *lines] if lines else []


def write_charts(rows: List[Row], folder: str) -> None:
    """sweep-NETWORK.svg for each network that was measured over the batch."""
    known = [row for row in rows if row.scenario.mode == "sweep"]
    for network in dict.fromkeys(row.scenario.network for row in known):
        lines = {}
        for name in reversed(ENGINES):
            points = [(row.scenario.batch, 1e9 * row.scenario.batch / float(np.median(row.get(name).latency_ns)))
                      for row in known if row.scenario.network == network and row.get(name)]
            if points:
                lines[TITLES[name]] = points
        if lines:
            with open(os.path.join(folder, f"sweep-{network}.svg"), "w", encoding="utf-8") as file:
                file.write(chart.throughput_svg(f"{network}: inputs per second", lines))


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


def markdown(rows: List[Row]) -> str:
    precision = PRECISIONS[rows[0].scenario.precision if rows else "fp32"]
    lines = ["# ipex-studio and other engines", "", machine(rows) + ".", "",
             f"{precision}, median milliseconds per call. Every engine is a process of its own; within a row they took turns "
             "in one run, all others stopped. In brackets: 95 % intervals, from resampled rounds. A ratio above 1 means "
             "that ipex-studio is faster. Times of different machines do not compare."]
    for mode in ("latency", "offline", "realtime"):
        group = [row for row in rows if row.scenario.mode == mode]
        for threads in sorted({row.scenario.threads for row in group}):
            part = [row for row in group if row.scenario.threads == threads]
            lines += ["", f"## {MODES[mode]}, {threads} thread{'s' if threads > 1 else ''} each", "", *table(part), *verdict(part)]
    steady = [row for row in rows if row.scenario.mode in ("latency", "offline")]
    lines += accuracy(rows) + sweep(rows) + accounts(steady) + limit_table(steady) + failures(rows)
    return "\n".join(lines) + "\n"
