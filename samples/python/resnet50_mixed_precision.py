#!/usr/bin/env python3
"""ResNet-50 with ten classes: trained in mixed precision, kept as a checkpoint, loaded into a stock ResNet-50, measured.

    samples/python/resnet50_mixed_precision.py [--dtype bfloat16] [--side 224] [--batch 128] [--images 1280] [--epochs 1]

Images are made up, in the form of CIFAR-10. The code runs on an XPU and on a CPU alike. `import
intel_extension_for_pytorch as ipex` in place of the import below does the same under ipex_studio's alias.
"""
import argparse
import os
import tempfile
import time

import torch
import torchvision
from torch import nn

import ipex_studio as ipex

CLASSES = 10


def make_loader(images, batch, side, seed):
    """Batches of noise with a stripe whose place is the class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (images,), generator=generator)
    data = torch.rand(images, 3, side, side, generator=generator)
    for image, label in zip(data, labels):
        begin = int(label) * side // CLASSES
        image[:, begin:begin + max(1, side // CLASSES)] += 1
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data, labels), batch_size=batch)


def make_model():
    """A stock ResNet-50 whose head tells ten classes apart."""
    model = torchvision.models.resnet50()
    model.fc = nn.Sequential(nn.Linear(model.fc.in_features, CLASSES), nn.Softmax(dim=1))
    return model


def train_model(loader, epochs, dtype, device, path):
    model = make_model().to(device)
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    model.train()
    model, optimizer = ipex.optimize(model, optimizer=optimizer, dtype=dtype)
    for epoch in range(epochs):
        total, begin = 0.0, time.perf_counter()
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            optimizer.zero_grad()
            with torch.xpu.amp.autocast(enabled=dtype == torch.bfloat16, dtype=torch.bfloat16):
                loss = criterion(model(data), target)
                loss.backward()
                optimizer.step()
            torch.xpu.synchronize()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}, {time.perf_counter() - begin:.1f} s")
    torch.save({"model_state_dict": model.state_dict(), "optimizer_state_dict": optimizer.state_dict()}, path)


def load_model(path, device):
    checkpoint = torch.load(path)
    model = make_model()
    model.load_state_dict(checkpoint["model_state_dict"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
    return model.to(device).eval()


def ipex_jit_optimize(model, data):
    model = ipex.optimize(model)
    with torch.no_grad():
        return torch.jit.freeze(torch.jit.trace(model, data))


def evaluate(model, loader, device):
    """Accuracy, and milliseconds per image."""
    right, count = 0, 0
    with torch.no_grad():
        first = next(iter(loader))[0].to(device)
        for _ in range(3):
            model(first)
        begin = time.perf_counter()
        for data, target in loader:
            right += int((model(data.to(device)).argmax(1).cpu() == target).sum())
            torch.xpu.synchronize()
            count += len(target)
        return right / count, 1e3 * (time.perf_counter() - begin) / count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="bfloat16")
    parser.add_argument("--side", type=int, default=224, help="height and width of images")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--images", type=int, default=1280)
    parser.add_argument("--epochs", type=int, default=1)
    options = parser.parse_args()
    device = "xpu" if torch.xpu.is_available() else "cpu"
    torch.manual_seed(0)
    loader = make_loader(options.images, options.batch, options.side, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pth")
        train_model(loader, options.epochs, getattr(torch, options.dtype), device, path)
        stock = load_model(path, device)
    fast = ipex_jit_optimize(stock, next(iter(loader))[0].to(device))
    for name, model in (("stock", stock), ("optimized", fast)):
        accuracy, latency = evaluate(model, loader, device)
        print(f"{name}: accuracy {accuracy:.3f}, {latency:.2f} ms per image on {device}")
    with torch.no_grad():
        data = next(iter(loader))[0].to(device)
        print(f"largest difference: {float((fast(data) - stock(data)).abs().max()):.2g}")


if __name__ == "__main__":
    main()
