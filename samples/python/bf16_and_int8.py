#!/usr/bin/env python3
"""BF16 training, BF16 inference, and INT8 from calibration to deployment, as Intel Extension for PyTorch's launch article
shows them.

    samples/python/bf16_and_int8.py [--network resnet18] [--side 224] [--batch 16] [--steps 4]

`import intel_extension_for_pytorch as ipex` in place of the import below does the same under ipex_studio's alias.
"""
import argparse
import os
import tempfile

import torch
import torchvision
from torch.fx.experimental import optimization

import ipex_studio as ipex


def images(options, seed):
    return torch.rand(options.batch, 3, options.side, options.side, generator=torch.Generator().manual_seed(seed))


def train_in_bf16(model, options):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = torch.nn.CrossEntropyLoss()
    model.train()
    model, optimizer = ipex.optimize(model, dtype=torch.bfloat16, optimizer=optimizer)
    for step in range(options.steps):
        data = images(options, step)
        target = data.mean([2, 3]).argmax(1)
        with torch.cpu.amp.autocast():
            loss = criterion(model(data), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"BF16 training: loss {loss.item():.4f}")
    return model


def infer_in_bf16(model, options):
    data = images(options, 100)
    model.eval()
    with torch.no_grad():
        wanted = model(data)
        fast = ipex.optimize(model, dtype=torch.bfloat16)
        with torch.cpu.amp.autocast():
            traced = torch.jit.freeze(torch.jit.trace(fast, data))
            for _ in range(3):
                results = traced(data)
    report("BF16 inference", results, wanted)


def quantize(model, options, path, configuration):
    model.eval()
    optimization.fuse(model, inplace=True)
    conf = ipex.quantization.QuantConf(qscheme=torch.per_tensor_affine)
    with torch.no_grad():
        for step in range(options.steps):
            with ipex.quantization.calibrate(conf):
                model(images(options, step))
    conf.save(configuration, default_recipe=True)
    conf = ipex.quantization.QuantConf(configuration)
    with torch.no_grad():
        quantized = ipex.quantization.convert(model, conf, images(options, 0))
    quantized.save(path)


def deploy(path, options):
    """In a program of its own this takes the import above, torch.jit.load and the call."""
    model = torch.jit.load(path)
    with torch.no_grad():
        for _ in range(3):
            results = model(images(options, 100))
    return results


def report(what, results, wanted):
    noise = (results.double() - wanted.double()).square().sum()
    print(f"{what}: {float(10 * torch.log10(wanted.double().square().sum() / noise)):.1f} dB above its error")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="resnet18", help="a classifier of torchvision")
    parser.add_argument("--side", type=int, default=224, help="height and width of images")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=4, help="training steps, and batches to calibrate on")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = getattr(torchvision.models, options.network)()
    trained = train_in_bf16(model, options)
    model.load_state_dict(trained.state_dict())
    infer_in_bf16(model, options)
    with torch.no_grad():
        wanted = model(images(options, 100))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "quantized.pt")
        quantize(model, options, path, os.path.join(folder, "int8_conf.json"))
        report("INT8 deployment", deploy(path, options), wanted)


if __name__ == "__main__":
    main()
