#!/usr/bin/env python3
"""Makes .pt files and inputs from torchvision's models and PyTorch's databases, and runs them through ipex_studio.optimize.

  models.py networks [--names resnet18 vit_b_16] [--side 224] [--batch 1] [--folder OUT]
  models.py databases [--sample 300] [--seed 1] [--operators '^(gather|norm)'] [--dtypes f32] [--folder OUT]

networks: each classifier of the torchvision that is installed, with seeded weights, as a module, as a module with a
sample, traced, and traced and frozen by itself. databases: samples of the operators and modules of PyTorch's own tests,
as tests/databases takes them, each in a process of its own.

Results are compared with the original's in FP64: right is what is as near as the original in FP32 is, times four, or
within 1e-5 of the largest value. --folder keeps NAME.pt and NAME.in.pt. Prints what is not right, and the totals; exit
status 1 if anything is wrong, refused or crashes.
"""
import argparse
import collections
import copy
import json
import os
import pathlib
import re
import sys
import warnings

import torch

import ipex_studio

NEAR = 1e-5  # of the largest value of a result
TIMES = 4  # the error of the original in FP32
LONGEST_S = 120


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["networks", "databases"])
    parser.add_argument("--names", nargs="+", help="networks of torchvision")
    parser.add_argument("--side", type=int, default=224, help="height and width of images")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--sample", type=int, help="so many samples of the databases, chosen at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=40, help="samples of an operator, dtype and form")
    parser.add_argument("--operators", default="", help="a regular expression that names have to match")
    parser.add_argument("--dtypes", nargs="+", default=["f32"])
    parser.add_argument("--forms", nargs="+", default=["alone"])
    parser.add_argument("--folder", type=pathlib.Path, help="where the files stay")
    parser.add_argument("--json", help="the verdicts as JSON")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    verdicts = dict(networks(options) if options.what == "networks" else databases(options))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(verdicts, file, indent=1)
    totals = collections.Counter(verdict.split(":")[0] for verdict in verdicts.values())
    print(", ".join(f"{count} {verdict}" for verdict, count in totals.most_common()) or "nothing was run")
    return 1 if any(totals[bad] for bad in ("wrong", "refused", "crashed")) else 0


# ---- networks ----

def networks(options):
    """(name and form, verdict) of each network."""
    import torchvision
    for name in options.names or classifiers(torchvision.models):
        torch.manual_seed(options.seed)
        try:
            model = getattr(torchvision.models, name)().eval()
        except Exception as problem:  # some want weights or another library
            yield said(name, f"original: {first_line(problem)}")
            continue
        side = 299 if name == "inception_v3" else options.side
        x = torch.rand(options.batch, 3, side, side)
        with torch.no_grad():
            stock = model(x)
            exact = copy.deepcopy(model).double()(x.double())
            traced = torch.jit.trace(model, x)
            keep(options.folder, name, traced, (x,))
            for form, make in FORMS.items():
                yield said(f"{name} ({form})", verdict_of(lambda make=make: called(make(model, traced, x), x), stock, exact))


def called(fast, x):
    """The result of a later call, when what is made by itself is there."""
    for _ in range(3):
        result = fast(x)
    return result


FORMS = {
    "module": lambda model, traced, x: ipex_studio.optimize(model),
    "sample": lambda model, traced, x: ipex_studio.optimize(model, sample_input=x),
    "traced": lambda model, traced, x: ipex_studio.optimize(traced, sample_input=x),
    "frozen": lambda model, traced, x: torch.jit.freeze(torch.jit.trace(model, x)),
}


def classifiers(models):
    """Names of functions that make classifiers."""
    return sorted(name for name, made in vars(models).items()
                  if name.islower() and callable(made) and not name.startswith(("_", "get_", "list_")))


# ---- databases ----

def databases(options):
    """(name, verdict) of each sample."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "databases"))
    import samples as db
    from databases import undefined  # what PyTorch leaves open
    matches = re.compile(options.operators).search
    sources = db.sources(matches, options.dtypes, options.forms)
    found = db.all_samples(sources, options.most) if options.sample is None else \
        db.random_samples(sources, options.sample, options.seed)
    for sample in found:
        if not isinstance(sample, db.Sample):
            continue  # there is none of this form
        keep(options.folder, sample.name, sample.module, sample.inputs)
        why = undefined(sample.name)
        yield said(sample.name, f"undefined: {why}" if why else apart(lambda sample=sample: judged(db, sample)))


def judged(db, sample):
    def run(module, tensors):
        return module(*(db.copy(tensor) for tensor in tensors))

    with torch.no_grad():
        torch.manual_seed(0)
        stock = run(sample.module, sample.inputs)
        torch.manual_seed(0)
        if not all(near(one, other, None) for one, other in zip(run(sample.module, sample.inputs), stock)):
            return "unsteady: it differs from itself"
        try:
            torch.manual_seed(0)
            exact = run(sample.module, [tensor.double() if tensor.dtype == torch.float32 else tensor
                                        for tensor in sample.inputs])
        except RuntimeError:  # constants of the graph are in FP32
            exact = None
        sample.module.eval()  # the call around the operator, which else stays as it is

        def ours():
            fast = ipex_studio.optimize(sample.module, sample_input=tuple(map(db.copy, sample.inputs)))
            torch.manual_seed(0)
            return run(fast, sample.inputs)

        return verdict_of(ours, stock, exact)


def apart(judge):
    """What `judge` says in a process of its own."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reads)
        import signal
        signal.alarm(LONGEST_S)
        try:
            os.write(writes, judge().encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if answer:
        return answer
    return f"crashed: signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else "crashed: it said nothing"


# ---- both ----

def verdict_of(run, stock, exact):
    """What the results of `run` are beside the original's, in FP32 and in FP64."""
    try:
        results = run()
    except Exception as problem:  # a refusal of any kind is a verdict
        return f"refused: {first_line(problem)}"
    tensors, wanted = flat(results), flat(stock)
    precise = flat(exact) if exact is not None else [None] * len(wanted)
    if len(tensors) != len(wanted):
        return f"wrong: {len(tensors)} results instead of {len(wanted)}"
    for result, other, true in zip(tensors, wanted, precise):
        if result.shape != other.shape or result.dtype != other.dtype:
            return f"wrong: {result.dtype} {tuple(result.shape)} instead of {other.dtype} {tuple(other.shape)}"
        if not near(result, other, true):
            return f"wrong: {distance(result, other):.3g} of the largest value away"
    return "right"


def near(result, stock, exact):
    if not (stock.is_floating_point() or stock.is_complex()):
        return torch.equal(result, stock)
    wide = torch.complex128 if stock.is_complex() else torch.float64
    true = (stock if exact is None or exact.shape != stock.shape else exact).to(wide)
    result, stock = result.to(wide), stock.to(wide)
    if not torch.equal(torch.isfinite(result), torch.isfinite(stock)):
        return False
    known = torch.isfinite(true) & torch.isfinite(stock)
    if not torch.allclose(result[~known].nan_to_num(), stock[~known].nan_to_num()):
        return False
    if not known.any():
        return True
    off = float((result[known] - true[known]).abs().max())
    return off <= max(NEAR * float(true[known].abs().max()), TIMES * float((stock[known] - true[known]).abs().max()))


def distance(result, stock):
    return float((result.double() - stock.double()).abs().max() / stock.double().abs().max().clamp_min(1e-30))


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for part in parts for tensor in flat(part)]


def keep(folder, name, module, inputs):
    if folder is not None:
        torch.jit.save(module, str(folder / f"{name}.pt"))
        torch.save(tuple(inputs), str(folder / f"{name}.in.pt"))


def said(name, verdict):
    if verdict != "right":
        print(f"{name}: {verdict}", flush=True)
    return name, verdict


def first_line(problem):
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:120]


if __name__ == "__main__":
    sys.exit(main())
