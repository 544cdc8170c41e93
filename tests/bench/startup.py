#!/usr/bin/python3
"""How soon a compiled export gives its first result: startup.py MODEL SIZES [--rounds N] [--threads N] [--check]

From the start of a process, files in the page cache, interleaved within one run:
  load      libtorch loads the original; nothing is computed
  original  and gives its first result
  packed    the compiled export gives its first result and packs its weights itself
  prepared  the same with the file of prepared weights beside it
as a C++ program and from Python. The ratio is prepared ÷ load; --check: exit code 1 where it is above 1.3.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, List

import numpy as np

from ratios import median_ratio

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MOST = 1.3

PYTHON = """
import sys, torch
if len(sys.argv) > 3: torch.ops.load_library(sys.argv[3])
with torch.no_grad():
    model = torch.jit.load(sys.argv[1])
    if len(sys.argv) > 2: model(torch.ones(*map(int, sys.argv[2].split("x"))))
print("ready", flush=True)
"""


def elapsed_ms(command: List[str], threads: int) -> float:
    """Until the process says that it is ready."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": str(threads)})
    said = process.stdout.readline()
    elapsed = time.monotonic() - begin
    process.communicate()
    if said.strip() != b"ready":
        raise RuntimeError(f"{command} did not get ready")
    return 1e3 * elapsed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("sizes", help="of the input: 1x3x224x224")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    library = os.path.join(options.build, "libipex_studio_ops.so")
    within = True
    with tempfile.TemporaryDirectory() as folder:
        packed, prepared = os.path.join(folder, "packed.pt"), os.path.join(folder, "prepared.pt")
        subprocess.run([os.path.join(options.build, "ipex-studio"), "run", options.model, "--threads", str(options.threads), "-o", prepared,
                        "--prepared", "--iterations", "1", "--db", os.path.join(folder, "profile.db")],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.copy(prepared, packed)
        print(f"| from the start of a process, ms | load | original | packed | prepared | prepared ÷ load [95 %] |\n{'|---' * 6}|")
        for language, program in (("C++", [os.path.join(options.build, "startup_probe")]),
                                  ("Python", [sys.executable, "-c", PYTHON])):
            commands = {"load": [options.model], "original": [options.model, options.sizes],
                        "packed": [packed, options.sizes, library], "prepared": [prepared, options.sizes, library]}
            times: Dict[str, List[float]] = {name: [] for name in commands}
            for turn in range(-1, options.rounds):  # the first fills the page cache
                for name, arguments in commands.items():
                    elapsed = elapsed_ms(program + arguments, options.threads)
                    if turn >= 0:
                        times[name].append(elapsed)
            turns = list(range(options.rounds))
            ratio, low, high = median_ratio((times["prepared"], turns), (times["load"], turns))
            within = within and ratio <= MOST
            cells = " | ".join(f"{np.median(times[name]):.0f}" for name in commands)
            print(f"| {language}, {options.threads} thread{'s' if options.threads > 1 else ''} | {cells} | {ratio:.2f} [{low:.2f}, {high:.2f}] |", flush=True)
    return 0 if within or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
