"""Loads an export in stock PyTorch and prints how far it is from what the network gave: reload.py EXPORT IO.pt [LIBRARY]

One number: the worst output's largest difference, relative to its largest value, over all recorded calls. Flags that are
no tensors follow as NAME=VALUE.
"""

import sys

import torch


def value_of(text: str):
    text = text.split("=", 1)[1]
    return {"True": True, "False": False}.get(text, float(text) if "." in text else int(text) if text.lstrip("-").isdigit() else text)


def flat(result):
    return [result] if isinstance(result, torch.Tensor) else [t for part in result for t in flat(part)]


def main() -> int:
    export, recording, *rest = sys.argv[1:]
    values = [value_of(text) for text in rest if "=" in text]
    for library in (text for text in rest if "=" not in text):
        torch.ops.load_library(library)
    module = torch.jit.load(export).eval()
    recorded = dict(torch.jit.load(recording).named_buffers())
    prefix = "step" if "step0_in0" in recorded else "case"
    if prefix == "step":
        module.reset_states()
    worst, call = 0.0, 0
    while f"{prefix}{call}_in0" in recorded:
        inputs = []
        while f"{prefix}{call}_in{len(inputs)}" in recorded:
            inputs.append(recorded[f"{prefix}{call}_in{len(inputs)}"])
        with torch.no_grad():
            outputs = flat(module(*inputs, *values))
        for position, output in enumerate(outputs):
            expected = recorded[f"{prefix}{call}_out{position}"]
            scale = float(expected.abs().max()) or 1.0
            worst = max(worst, float((output - expected).abs().max()) / scale)
        call += 1
    if call == 0:
        print(f"{recording} holds no recorded call", file=sys.stderr)
        return 1
    print(worst)
    return 0


if __name__ == "__main__":
    sys.exit(main())
