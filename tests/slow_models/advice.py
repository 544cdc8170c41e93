#!/usr/bin/python3
"""Measures what `ipex-studio run` makes of slow models: does advice name the cause, and how much does it recover?

  advice.py BUILD [NAME …]           a table: the cause's place in the advice, and the share of the possible gain
  advice.py BUILD --no-times [NAME …]  the advice alone

The possible gain is from the model as it was saved to the same function written well, frozen or optimized by ipex-studio,
whichever is faster. What the first lines of advice offer is done first. All are timed by turns in one process, on one thread; the least of many times counts.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import torch

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import slow_models  # noqa: E402

FIRST_LINES = 3
# What the offers of the window do, as flags.
OFFERS = {"Run in evaluation mode": ["--evaluation"], "Try FP32": ["--decide", "kind:double=fp32"]}


def run(build, folder, entry, file, flags):
    """The JSON of `ipex-studio run`, and the export beside the file."""
    export = os.path.join(folder, file.replace(".pt", ".fast.pt"))
    # The good one has names of arguments of its own.
    names = [argument.name for argument in torch.jit.load(os.path.join(folder, file)).forward.schema.arguments[1:]]
    inputs = [word for name, value in zip(names, entry.inputs)
              for word in ("--input", name + value[value.index(":"):])]
    command = [os.path.join(build, "ipex-studio"), "run", os.path.join(folder, file), "-o", export, "--force", "--json",
               "--db", os.path.join(folder, "profile.db"), "--warmup", "0.05", "--duration", "0.3", *inputs, *flags]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{file}: {done.stderr.strip()}")
    return json.loads(done.stdout), export


def place_of(entry, advice):
    """The line of the advice that names the cause, from 1; 0: none does."""
    for place, line in enumerate(advice, 1):
        if any(word.lower() in line["text"].lower() for word in entry.words):
            return place
    return 0


def load(path):
    module = torch.jit.load(path)
    return module if ".fast." in path else torch.jit.freeze(module.eval())


def least_times(paths, sample, seconds):
    """The least time of each file's forward, by turns."""
    torch.set_num_threads(1)
    modules = [load(path) for path in paths]
    least = [float("inf")] * len(modules)
    with torch.no_grad():
        end = time.monotonic() + seconds
        turns = 0
        while turns < 12 or time.monotonic() < end:
            turns += 1
            for i, module in enumerate(modules):
                begin = time.perf_counter()
                module(*sample)
                least[i] = min(least[i], time.perf_counter() - begin)
    return least


def recovered(build, folder, entry, export, seconds):
    """The share of the possible gain, and the times behind it in ms: as saved, optimized, possible."""
    _, good_export = run(build, folder, entry, f"{entry.name}.good.pt", ["--threads", "1"])
    paths = [os.path.join(folder, f"{entry.name}.pt"), export, os.path.join(folder, f"{entry.name}.good.pt"), good_export]
    slow, fast, good, good_fast = (1e3 * least for least in least_times(paths, entry.sample(), seconds))
    best = min(good, good_fast)
    return (slow - fast) / max(slow - best, 1e-9), slow, fast, best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--no-times", action="store_true")
    parser.add_argument("--seconds", type=float, default=1, help="of timing each model")
    arguments = parser.parse_intermixed_args()
    if not arguments.no_times:
            torch.ops.load_library(os.path.join(arguments.build, "libipex_studio_ops.so"))
    named = recovering = 0
    chosen = [slow_models.MODELS[name] for name in arguments.names or slow_models.MODELS]
    with tempfile.TemporaryDirectory() as folder:
        for entry in chosen:
            slow_models.export(entry, folder)
            threads = entry.flags or ("--threads", "1")
            answer, export = run(arguments.build, folder, entry, f"{entry.name}.pt", threads)
            place = place_of(entry, answer["advice"])
            named += 0 < place <= FIRST_LINES
            line = f"{entry.name:22} {place or '-':>2}"
            if not arguments.no_times:
                offered = [flag for told in answer["advice"][:FIRST_LINES] for flag in OFFERS.get(told["offer"], [])]
                if offered:
                    _, export = run(arguments.build, folder, entry, f"{entry.name}.pt", [*threads, *offered])
                share, slow, fast, best = recovered(arguments.build, folder, entry, export, arguments.seconds)
                recovering += share >= 0.8
                line += f"  {100 * share:6.0f} %  {slow:9.3f} {fast:9.3f} {best:9.3f} ms"
            print(line, flush=True)
            for told in answer["advice"][:FIRST_LINES]:
                print(f"    {told['text']}" + (f" [{told['offer']}]" if told["offer"] else ""), flush=True)
    print(f"{named} of {len(chosen)} name the cause in the first {FIRST_LINES} lines"
          + ("" if arguments.no_times else f"; {recovering} recover 80 % of the possible gain"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
