"""Layers of inference that say what is wrong with their input in the words of Intel Extension for PyTorch."""
from typing import Any, Callable, Dict, Optional

import torch
from torch import nn

from ._patched import drop_role, patch, role, stock_class

ROLE = "told"
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def fault_of(layer: nn.Module, input: torch.Tensor) -> Optional[str]:
    """Why a layer refuses an input, where that is a matter of sizes; None otherwise."""
    weight, kind = layer.weight, stock_class(layer)
    if kind is nn.Linear:
        if input.shape[-1:] == weight.shape[1:]:
            return None
        return f"Check the shapes of mat1 and mat2, they cannot be multiplied! ({list(input.shape)} and {list(weight.t().shape)})"
    sizes = list(weight.shape)
    if min(layer.dilation) <= 0:
        return "non-positive dilation is not supported"
    if input.dim() != weight.dim():
        return (f"Expected {len(sizes)}-dimensional input for {len(sizes)}-dimensional weight {sizes}, but got "
                f"{input.dim()}-dimensional input of size {list(input.shape)} instead")
    transposed = kind in TRANSPOSED
    channels = sizes[0] if transposed else sizes[1] * layer.groups
    if input.shape[1] == channels:
        return None
    how = "transposed=True" if transposed else f"groups={layer.groups}"
    return (f"Given {how}, weight of size {sizes}, expected input{list(input.shape)} to have {channels} channels, but got "
            f"{input.shape[1]} channels instead")


def tell(problem: RuntimeError, layer: nn.Module, input: Any) -> None:
    """Raises a layer's error anew, in plainer words where there are some."""
    text = fault_of(layer, input) if isinstance(input, torch.Tensor) else None
    raise problem if text is None else RuntimeError(text) from problem


def _forward(base: type) -> Callable:
    stock = base.forward

    def forward(self, input, *others):
        try:
            return stock(self, input, *others)
        except RuntimeError as problem:
            tell(problem, self, input)

    return forward


@role(ROLE)
def _told_members(base: type) -> Dict[str, Any]:
    return {"forward": _forward(base)}


def tell_faults(model: nn.Module) -> None:
    """Lets convolutions that are plain in all else name the sizes that they refuse."""
    for module in model.modules():
        if type(module) in CONVOLUTIONS + TRANSPOSED and "forward" not in module.__dict__ and "weight" in module._parameters:
            patch(module, ROLE)


def tell_no_faults(model: nn.Module) -> None:
    """Undoes tell_faults()."""
    drop_role(model, ROLE)
