#!/usr/bin/python3
"""Exports the sample networks as TorchScript files.

  export_models.py --list                            what there is, and the inputs of each
  export_models.py resnet50 -o resnet50.pt           one network; --io also records inputs and outputs
  export_models.py --all-tiny -o FOLDER              the small ones of the test-suite: NAME.pt, NAME.io.pt, models.json

Weights are random but seeded, and shaped like trained ones: the same command writes the same numbers. It needs
Debian's python3-torch, and python3-torchvision for the image networks that --list ascribes to it.
"""

import argparse
import json
import os
import sys
from typing import Dict, List

import torch
from torch import nn

from networks import (control_flow, decoder, detector, families, language, recommendation, rotary,  # noqa: F401
                      sequences, tiny_vision, vision)  # (they register)
from networks.registry import NETWORKS, SEED, Network

# Recorded calls per network. The second one shows state, and that nothing was specialized to the values of the first.
CASES = 2


def tensors_of(values) -> List[torch.Tensor]:
    """The tensors among the values, tuples flattened; other values are given by --input, not recorded."""
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, (tuple, list)):
        return [tensor for value in values for tensor in tensors_of(value)]
    return []


class Recording(nn.Module):
    """Holds recorded tensors as buffers, so that any libtorch can read them with torch.jit.load."""

    def __init__(self, tensors: Dict[str, torch.Tensor]):
        super().__init__()
        for name, tensor in tensors.items():
            self.register_buffer(name, tensor.detach().clone())


def record(network: Network, model: nn.Module) -> Dict[str, torch.Tensor]:
    """Runs the eager model; the names are caseI_inJ and caseI_outJ, or stepI_… for one with state, from its reset."""
    prefix = "step" if network.reset else "case"
    if network.reset:
        getattr(model, network.reset)()
    recorded = {}
    for index in range(CASES):
        arguments = network.sample()
        # Copies, because a model may write into its inputs.
        inputs = [tensor.clone() for tensor in tensors_of(arguments)]
        for kind, tensors in (("in", inputs), ("out", tensors_of(model(*arguments)))):
            for position, tensor in enumerate(tensors):
                if not bool(torch.isfinite(tensor).all()):
                    raise RuntimeError(f"{network.name}: {kind}put {position} is not finite")
                recorded[f"{prefix}{index}_{kind}{position}"] = tensor.clone()
    return recorded


def save(module: torch.jit.ScriptModule, path: str) -> None:
    """Writes beside the target and renames, so that a file with the final name is always whole."""
    partial = f"{path}.{os.getpid()}.partial"
    try:
        module.save(partial)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def export(network: Network, path: str, io_path: str = "") -> None:
    torch.manual_seed(SEED)
    model = network.build().eval()
    with torch.no_grad():
        recorded = record(network, model) if io_path else {}
        if network.reset:
            getattr(model, network.reset)()
        if network.scripted:
            module = torch.jit.script(model)
        else:
            module = torch.jit.trace(model, tuple(network.sample()), check_trace=False)
    taken = [argument.name for argument in module.forward.schema.arguments[1:]]
    declared = [argument.name for argument in network.inputs]
    if taken != declared:
        raise RuntimeError(f"{network.name} takes {taken}, its entry in the registry says {declared}")
    # The model is renamed last, so that a model that exists has its recording beside it.
    if io_path:
        save(torch.jit.script(Recording(recorded)), io_path)
    save(module, path)


def export_all_tiny(folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    manifest = []
    for network in NETWORKS.values():
        if not network.tiny:
            continue
        export(network, os.path.join(folder, f"{network.name}.pt"), os.path.join(folder, f"{network.name}.io.pt"))
        manifest.append({"name": network.name, "summary": network.summary, "file": f"{network.name}.pt",
                         "io": f"{network.name}.io.pt", "flags": network.flags(), "scripted": network.scripted,
                         "reset": network.reset})
    with open(os.path.join(folder, "models.json"), "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)


def list_networks() -> None:
    for network in NETWORKS.values():
        print(f"{network.name:20} {network.summary}\n{'':20} {' '.join(network.flags())}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", choices=sorted(NETWORKS), metavar="NAME", help="the network to export")
    parser.add_argument("-o", metavar="OUT", dest="out", help="the file to write, or the folder with --all-tiny")
    parser.add_argument("--io", metavar="FILE", default="", help="also record inputs and outputs in this file")
    parser.add_argument("--rows", type=int, metavar="N", help="dlrm only: rows of each table instead of 100,000")
    parser.add_argument("--all-tiny", action="store_true", help="export all small networks into a folder")
    parser.add_argument("--list", action="store_true", help="list the networks and their inputs")
    arguments = parser.parse_args()

    if arguments.list:
        list_networks()
        return 0
    if not arguments.out:
        parser.error("-o is missing: say where to write.")
    if arguments.all_tiny:
        export_all_tiny(arguments.out)
        return 0
    if not arguments.name:
        parser.error("the network's name is missing; --list shows all.")
    if arguments.rows is not None and arguments.name != "dlrm":
        parser.error("--rows is for dlrm only.")
    network = NETWORKS[arguments.name]
    if arguments.rows is not None:
        network = network.with_rows(arguments.rows)
    export(network, arguments.out, arguments.io)
    print(f"{arguments.out}: {network.summary}; inputs: {' '.join(network.flags())}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
