#!/usr/bin/env python3
"""Training and inference of a small network, as the first page of Intel Extension for PyTorch shows them.

    samples/python/introduction.py [--steps 20]

`import intel_extension_for_pytorch as ipex` in place of the import below does the same under ipex_studio's alias.
"""
import argparse

import torch
from torch import nn

import ipex_studio as ipex


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.features(x).mean([2, 3]))


def samples(count, seed):
    """Images whose brightest quarter is their class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(4, (count,), generator=generator)
    images = torch.rand(count, 3, 16, 16, generator=generator)
    for image, label in zip(images, labels):
        image[label % 3] += 0.5 * (1 + label // 3)
    return images, labels


def train(steps):
    model = Network()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model.train()
    # The model is in training mode, and the optimizer comes alone: it follows the model's copy.
    model = ipex.optimize(model)
    optimizer = ipex.optimize(optimizer)
    # On an XPU both would go there.
    device = "xpu" if torch.xpu.is_available() else "cpu"
    model = model.to(memory_format=torch.channels_last).to(device)
    criterion = criterion.to(device)
    for step in range(steps):
        images, labels = samples(32, step)
        images = images.to(memory_format=torch.channels_last).to(device)
        optimizer.zero_grad()
        with torch.cpu.amp.autocast():
            loss = criterion(model(images), labels.to(device))
        loss.backward()
        optimizer.step()
        if step == 0:
            first = loss.item()
    print(f"loss: {first:.4f} at first, {loss.item():.4f} after {steps} steps")
    return model


def infer(model):
    images, labels = samples(256, 1000)
    images = images.to(memory_format=torch.channels_last)
    model.eval()
    model = ipex.optimize(model)
    with torch.no_grad():
        eager = model(images)
        traced = torch.jit.freeze(torch.jit.trace(model, images))
        for _ in range(3):
            results = traced(images)
    print(f"largest difference of traced and eager: {float((results - eager).abs().max()):.2g}")
    print(f"accuracy: {float((results.argmax(1) == labels).float().mean()):.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20, help="training steps")
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    infer(train(steps))


if __name__ == "__main__":
    main()
