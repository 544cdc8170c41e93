#!/usr/bin/python3
"""Writes an untrained ResNet-50 with 10 classes as TorchScript: export_untrained.py OUT.pt

It is torchvision's network as it is, initialized for training; train.cpp loads the file and trains that module.
"""

import os
import sys

import torch
import torchvision


def main() -> int:
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} OUT.pt", file=sys.stderr)
        return 2
    torch.manual_seed(0)
    # zero_init_residual: each block begins as the identity, which makes the first hundred steps safe at a high rate.
    model = torchvision.models.resnet50(num_classes=10, zero_init_residual=True)
    partial = f"{sys.argv[1]}.{os.getpid()}.partial"
    torch.jit.script(model).save(partial)
    os.replace(partial, sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
