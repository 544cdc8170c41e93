#!/usr/bin/env python3
"""Time of stock eager models over that of the same models through ipex_studio, in Python, by turns.

  eager.py [--form optimize|sample|frozen|compile|int8] [--over eager|program] [--names resnet18 ...] [--side 224]
           [--threads 1] [--turns 15]

Forms: optimize(model), layer by layer; optimize(model, sample_input=x); traced and frozen, with plans of its own accord;
torch.compile; INT8 by prepare() and convert(), from its file. Names are torchvision's classifiers, those of
TRANSFORMERS, whose base models are made from their configurations with random weights (takes pip's transformers), or the
tiny networks of --tiny. `--over program` takes what `ipex-studio run` exports of the frozen trace, with kernels that it
measures by itself, in the place of stock. Each turn calls stock, ours and stock again; the ratio is the median over turns with
a bootstrap interval, the control is stock over stock. Prints a line a network, and the geometric mean.
"""
import argparse
import copy
import io
import math
import os
import random
import statistics
import tempfile
import time
import warnings

import torch

import ipex_studio

NAMES = ("alexnet", "resnet18", "resnet50", "vgg11", "squeezenet1_1", "densenet121", "mobilenet_v2", "mobilenet_v3_small",
         "shufflenet_v2_x1_0", "efficientnet_b0")
TRANSFORMERS = {"bert": "BertModel", "distilbert": "DistilBertModel", "roberta": "RobertaModel", "gpt2": "GPT2Model",
                "t5": "T5EncoderModel", "vit": "ViTModel"}
WORDS = 128  # of a text
TURN_S = 0.1  # of each variant in a turn


def tiny_networks():
    """Networks in which a call costs more than what it computes."""
    from torch import nn
    return {"mlp": (nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8)), torch.randn(1, 32)),
            "wide_mlp": (nn.Sequential(nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10)), torch.randn(4, 256)),
            "one_layer": (nn.Linear(16, 16), torch.randn(1, 16)),
            "relu": (nn.ReLU(), torch.randn(8, 8)),
            "conv": (nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()), torch.randn(1, 3, 8, 8)),
            "norm": (nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 64)), torch.randn(2, 64))}


def networks(options):
    if options.tiny:
        for name, (model, x) in tiny_networks().items():
            yield name, model.eval(), x
        return
    import torchvision
    for name in options.names:
        image = torch.rand(options.batch, 3, options.side, options.side)
        if name in TRANSFORMERS:
            words = torch.randint(0, 1000, (options.batch, WORDS))
            yield name, transformer(TRANSFORMERS[name]), image if name == "vit" else words
        else:
            yield name, getattr(torchvision.models, name)().eval(), image


def transformer(name):
    import transformers
    kind = getattr(transformers, name)
    configuration = kind.config_class(use_cache=False, return_dict=False)
    return kind(configuration).eval()


def optimized(form, model, x):
    if form == "optimize":
        return ipex_studio.optimize(model)
    if form == "sample":
        return ipex_studio.optimize(model, sample_input=x)
    if form == "compile":
        return torch.compile(model, backend="ipex_studio")
    if form == "int8":
        from ipex_studio.quantization import convert, default_static_qconfig_mapping, prepare
        prepared = prepare(model, default_static_qconfig_mapping, example_inputs=x)
        prepared(x)
        file = io.BytesIO()
        torch.jit.save(torch.jit.freeze(torch.jit.trace(convert(prepared), x)), file)
        file.seek(0)
        return torch.jit.load(file)
    return torch.jit.freeze(torch.jit.trace(model, x))


def programs_plan(model, x, threads):
    """What the program makes of the frozen trace, with a database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        traced, written = os.path.join(folder, "model.pt"), os.path.join(folder, "fast.pt")
        torch.jit.save(torch.jit.freeze(torch.jit.trace(model, x)), traced)
        ipex_studio.run(traced, written, inputs=[x], threads=threads, db=os.path.join(folder, "own.db"))
        return torch.jit.load(written)


def timed(call, x, count):
    begin = time.perf_counter()
    for _ in range(count):
        call(x)
    return (time.perf_counter() - begin) / count


def by_turns(stock, ours, x, turns):
    """Times of stock, ours and stock again in each turn."""
    for call in (stock, ours, stock, ours):
        timed(call, x, 3)
    counts = [max(1, int(TURN_S / max(timed(call, x, 3), 1e-7))) for call in (stock, ours)]
    return [(timed(stock, x, counts[0]), timed(ours, x, counts[1]), timed(stock, x, counts[0])) for _ in range(turns)]


def median_with_interval(ratios):
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(ratios), medians[25], medians[974]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--form", choices=["optimize", "sample", "frozen", "compile", "int8"], default="optimize")
    parser.add_argument("--over", choices=["eager", "program"], default="eager")
    parser.add_argument("--names", nargs="+", default=NAMES)
    parser.add_argument("--tiny", action="store_true", help="tiny networks instead")
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(options.threads)
    found = []
    with torch.no_grad():
        for name, model, x in networks(options):
            over_program = options.over == "program"
            stock = programs_plan(model, x, options.threads) if over_program else copy.deepcopy(model)
            turns = by_turns(stock, optimized(options.form, model, x), x, options.turns)
            ratio, low, high = median_with_interval([(first + last) / 2 / ours for first, ours, last in turns])
            control = statistics.median(first / last for first, _, last in turns)
            print(f"{name}: {ratio:.3f} [{low:.3f}, {high:.3f}], control {control:.3f}, {options.over} "
                  f"{1e3 * statistics.median(turn[0] for turn in turns):.3f} ms", flush=True)
            found.append(ratio)
    print(f"geometric mean {math.exp(statistics.fmean(map(math.log, found))):.3f}, least {min(found):.3f} "
          f"(torch {torch.__version__}, {options.threads} thread(s))")


if __name__ == "__main__":
    main()
