"""What of a network a device leaves to the CPU, and why:

    tests/bench/fallbacks.py build/ipex-studio resnet50.pt … [--device opencl] [--precision fp32]

A line for each model: the share of the steps' time in steps of the device and in its copies, then each operation that
the CPU computed, with its share and the reason that the device's kernels gave. Inputs are the recorded ones beside the
model."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Dict, List


def rows_of(program: str, database: str, panel: str) -> List[Dict]:
    text = subprocess.run([program, database, "--panel", panel, "--json"], check=True, capture_output=True, text=True)
    return json.loads(text.stdout)["rows"]


def is_copy(row: Dict) -> bool:
    return row["copy"] == "yes"


def is_on_device(row: Dict) -> bool:
    return row["device"] != "cpu" and not is_copy(row)


def is_of_device(kernel: str) -> bool:
    """True for a kernel of a device, and for the device itself where it has none for an operation."""
    return kernel.endswith("_xpu") or kernel.startswith(("opencl", "xpu"))


class Survey:
    """One network on one device: its operations, and what its kernels said."""

    def __init__(self, operations: List[Dict], dispatches: List[Dict]):
        self.steps = [row for row in operations if row["variant"] == "optimized" and row["time_ms"]]
        self.reasons: Dict[str, str] = {}
        for row in dispatches:
            if row["chosen"] == "no" and is_of_device(row["kernel"]):
                self.reasons.setdefault(row["operation"], row["reason"])

    def share(self, fits) -> float:
        total = sum(row["time_ms"] for row in self.steps)
        return sum(row["time_ms"] for row in self.steps if fits(row)) / total if total else 0.0

    def lines(self) -> List[str]:
        copies = [row for row in self.steps if is_copy(row)]
        lines = [f"{self.share(is_on_device):7.2%} on the device, {len(copies)} copies {self.share(is_copy):.2%}"]
        left = [row for row in self.steps if not is_on_device(row) and not is_copy(row)]
        total = sum(row["time_ms"] for row in self.steps)
        for row in sorted(left, key=lambda row: -row["time_ms"])[:12]:
            why = self.reasons.get(row["operation"], "no plan" if row["kernel"] == "interpreter" else "no kernel")
            lines.append(f"    {row['time_ms'] / total:7.2%}  {row['operation'][:50]} ({row['kernel']}): {why}")
        return lines


def survey(arguments: argparse.Namespace, model: str) -> Survey:
    with tempfile.TemporaryDirectory() as folder:
        database = os.path.join(folder, "profile.db")
        command = [arguments.program, "run", model, "--device", arguments.device, "--precision", arguments.precision,
                   "--threads", str(arguments.threads), "--db", database, "--iterations", "3", "--warmup", "0"]
        inputs = model[:-len(".pt")] + ".io.pt"
        if os.path.exists(inputs):
            command += ["--inputs", inputs]
            if arguments.precision == "int8":
                command += ["--data", inputs]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
        return Survey(rows_of(arguments.program, database, "operations"),
                      rows_of(arguments.program, database, "kernels"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--device", default="opencl")
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    for model in arguments.models:
        try:
            lines = survey(arguments, model).lines()
        except (RuntimeError, subprocess.SubprocessError) as problem:
            lines = [f"failed: {problem}"]
        print(f"{os.path.basename(model)}: " + "\n".join(lines), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
