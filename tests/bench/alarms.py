#!/usr/bin/python3
"""How often `ipex-studio check` is wrong: equal models, and models that are slower by a known share.

  tests/bench/alarms.py [--equal 200] [--slower 40] [--share 0.05] [--cpu 1] [--out FILE] [--program build/ipex-studio]

Every network has blocks of equal cost, so a slower form is one with more blocks that give back what they are given: the same
results, and a known share of time more. Run by the superuser, checks have real-time priority on one CPU, so that other programs
cannot disturb them; else they run as programs do. --out keeps one line of JSON for each check, and checks that are there
already are not repeated. Exit codes: 0 at most one false alarm in 200 and 95 % of the slowdowns found, each within its time; else 1.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

MOST_ALARMS, LEAST_FOUND, WITHIN_S = 1 / 200, 0.95, 60
BLOCKS = 20
PRIORITY = 20  # real-time, above nothing else that matters


class Blocks(torch.nn.Module):
    """Equal blocks with weights of one kind, with blocks behind them that give back what they are given."""

    def __init__(self, more, make, set_identity):
        super().__init__()
        self.blocks = torch.nn.Sequential()
        for place in range(BLOCKS + more):
            block = make()
            if place >= BLOCKS:
                set_identity(block.weight)
                torch.nn.init.zeros_(block.bias)
            self.blocks.add_module(str(2 * place), block)
            self.blocks.add_module(str(2 * place + 1), torch.nn.ReLU())

    def forward(self, x):
        return self.blocks(x)


class Convolutions(Blocks):
    """Convolutions of images."""
    shape = "1x32x40x40"

    def __init__(self, more):
        super().__init__(more, lambda: torch.nn.Conv2d(32, 32, 3, padding=1), torch.nn.init.dirac_)


class Layers(Blocks):
    """Linear layers."""
    shape = "64x384"

    def __init__(self, more):
        super().__init__(more, lambda: torch.nn.Linear(384, 384), torch.nn.init.eye_)


class Attention(torch.nn.Module):
    """Residual blocks of attention; those behind add zeros."""
    shape = "1x96x128"

    def __init__(self, more):
        super().__init__()
        self.blocks = torch.nn.ModuleList()
        for place in range(BLOCKS + more):
            block = torch.nn.ModuleList([torch.nn.Linear(128, 384), torch.nn.Linear(128, 128)])
            if place >= BLOCKS:
                torch.nn.init.zeros_(block[1].weight)
                torch.nn.init.zeros_(block[1].bias)
            self.blocks.append(block)

    def forward(self, x):
        for block in self.blocks:
            q, k, v = block[0](x).chunk(3, 2)
            x = x + block[1](torch.softmax(q @ k.transpose(1, 2) * 0.088, -1) @ v)
        return x


NETWORKS = {"convolutions": Convolutions, "layers": Layers, "attention": Attention}


def saved(folder, name, more):
    """The file of a network with so many blocks more."""
    path = folder / f"{name}_{more}.pt"
    if not path.exists():
        torch.manual_seed(1)
        network = NETWORKS[name](more).eval()
        torch.jit.script(network).save(str(path))
    return path


def with_precedence(command, cpu):
    if os.geteuid() != 0:
        return command
    return ["taskset", "-c", str(cpu), "chrt", "-f", str(PRIORITY)] + command


def checked(options, folder, name, more):
    """What one check says, as a line of --out."""
    pages = [str(saved(folder, name, 0)), str(saved(folder, name, more))]
    command = [options.program, "check", *pages, "--input", f"x:{NETWORKS[name].shape}", "--threads", "1", "--json",
               "--within", str(WITHIN_S)]
    begin = time.monotonic()
    done = subprocess.run(with_precedence(command, options.cpu), capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begin
    if done.returncode not in (0, 7):
        sys.exit(f"alarms.py: {name}, {more} blocks more: {done.stderr.strip()[-300:]}")
    speed = json.loads(done.stdout)["speed"]
    return {"network": name, "more": more, "slower": done.returncode == 7, "seconds": seconds, "speed": speed}


def wanted(options):
    """(network, blocks more) of every check, in an order that spreads kinds over the whole time."""
    more = round(options.share * BLOCKS)
    jobs = [(place / max(1, options.equal), 0) for place in range(options.equal)]
    jobs += [((place + 0.5) / options.slower, more) for place in range(options.slower)]
    names = list(NETWORKS)
    seen = {0: 0, more: 0}
    for _, blocks in sorted(jobs):
        yield names[seen[blocks] % len(names)], blocks
        seen[blocks] += 1


def totals(lines):
    """Prints the totals; True if they hold."""
    holds = True
    for title, mine in (("equal", [line for line in lines if line["more"] == 0]),
                        ("slower", [line for line in lines if line["more"] > 0])):
        if not mine:
            continue
        said = sum(line["slower"] for line in mine)
        seconds = sorted(line["seconds"] for line in mine)
        ratios = sorted(line["speed"]["ratio"]["value"] for line in mine)
        late = sum(second > WITHIN_S for second in seconds)
        print(f"{title}: {said} of {len(mine)} said slower; ratio {ratios[0]:.3f} to {ratios[-1]:.3f}, median "
              f"{ratios[len(ratios) // 2]:.3f}; {seconds[len(seconds) // 2]:.1f} s, longest {seconds[-1]:.1f} s")
        if title == "equal":
            holds = holds and said <= max(1, MOST_ALARMS * len(mine))
        else:
            holds = holds and said >= LEAST_FOUND * len(mine) and late == 0
    return holds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equal", type=int, default=200)
    parser.add_argument("--slower", type=int, default=40)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--cpu", type=int, default=1)
    parser.add_argument("--for", dest="at_most_s", type=float, default=1e9, metavar="SECONDS", help="begin no check after this time")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--program", default="build/ipex-studio")
    options = parser.parse_args()
    lines = []
    if options.out and options.out.exists():
        lines = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, more in list(wanted(options))[len(lines):]:
            if time.monotonic() - begin > options.at_most_s:
                break
            lines.append(checked(options, pathlib.Path(folder), name, more))
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
    return 0 if totals(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
