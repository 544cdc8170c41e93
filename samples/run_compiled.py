#!/usr/bin/python3
"""Run a `compiled` export from Python: stock PyTorch plus the operator library.

    samples/run_compiled.py build/libipex_studio_ops.so fast.pt 1x3x224x224
"""
import sys

import torch


def main() -> int:
    if len(sys.argv) < 4:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    library, model, *shapes = sys.argv[1:]
    torch.ops.load_library(library)
    if not hasattr(torch.ops.ipex_studio, "region"):
        return 5  # built for another torch; the library said so
    module = torch.jit.load(model)
    torch.manual_seed(0)
    inputs = [torch.randn(*map(int, shape.split("x"))) for shape in shapes]
    with torch.no_grad():
        result = module(*inputs)
    print(tuple(result.shape) if isinstance(result, torch.Tensor) else type(result).__name__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
