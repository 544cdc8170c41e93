"""Layers of inference whose weights are packed once, each by itself: what optimize(model) does without plans."""
from typing import Any, Callable, Dict, Optional

import torch
from torch import nn

from . import _engine  # noqa: F401 - brings the operators
from ._libraries import brought
from ._patched import drop_role, patch, role
from ._told import tell
from ._versions import autocast_is_on, is_traced

ROLE = "packed"
LITTLE_WORK = 1 << 20  # products of a layer below which a call costs more than packed weights save
FEW_ROWS = 2  # of an input: what the weights cost to read is all, however they lie


def _fits(input: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> bool:
    """True if the operator may compute this call, and sooner than torch does."""
    if is_traced() or input.dim() < 2 or input.numel() < FEW_ROWS * input.shape[-1]:
        return False
    if not input.dtype == weight.dtype == torch.float32 or not input.device.type == weight.device.type == "cpu":
        return False
    if torch.is_grad_enabled() and (input.requires_grad or weight.requires_grad or bias is not None and bias.requires_grad):
        return False
    return not autocast_is_on()


def _linear(base: type) -> Callable:
    stock, run = base.forward, torch.ops.ipex_studio.linear_units

    def forward(self, input):
        if type(input) is torch.Tensor and input.numel() * self.out_features >= LITTLE_WORK \
                and _fits(input, self.weight, self.bias):
            return run(input, self.weight, self.bias, "none", None, [])
        try:
            return stock(self, input)
        except RuntimeError as problem:
            tell(problem, self, input)

    return forward


def _channel_linear(base: type) -> Callable:
    """Of PyTorch Geometric's own linear layer."""
    stock, run = base.forward, torch.ops.ipex_studio.linear_units

    def forward(self, x):
        fits = type(x) is torch.Tensor and x.numel() * self.out_channels >= LITTLE_WORK
        if not fits or not _fits(x, self.weight, self.bias):
            return stock(self, x)
        return run(x, self.weight, self.bias, "none", None, [])

    return forward


def _transposed_linear(base: type) -> Callable:
    """Of a layer of transformers whose weight has its inputs in the rows."""
    stock, run = base.forward, torch.ops.ipex_studio.linear_units

    def forward(self, x):
        if type(x) is not torch.Tensor or x.numel() * self.nf < LITTLE_WORK or not _fits(x, self.weight, self.bias):
            return stock(self, x)
        turned = self.__dict__.get("_ipex_turned")
        if turned is None or turned.data_ptr() != self.weight.data_ptr():
            turned = self.__dict__["_ipex_turned"] = self.weight.detach().t()
        return run(x, turned, self.bias, "none", None, [])

    return forward


def _forwards() -> Dict[type, Callable]:
    found: Dict[type, Callable] = {nn.Linear: _linear}
    for name, forward in (("transformers.pytorch_utils.Conv1D", _transposed_linear),
                          ("torch_geometric.nn.dense.linear.Linear", _channel_linear)):
        kind = brought(name)
        if isinstance(kind, type):
            found[kind] = forward
    return found


@role(ROLE)
def _packed_members(base: type) -> Dict[str, Any]:
    return {"forward": _forwards()[base](base), "_ipex_attributes": ("_ipex_turned",), "_ipex_transient": ("_ipex_turned",)}


def pack_layers(model: nn.Module) -> int:
    """Lets layers that are plain in all else compute by packed weights where gradients are off; returns how many do.
    Weights that are written to are packed anew."""
    kinds = _forwards()
    layers = [module for module in model.modules()
              if type(module) in kinds and "forward" not in module.__dict__ and "weight" in module._parameters]
    for layer in layers:
        patch(layer, ROLE)
    return len(layers)


def unpack_layers(model: nn.Module) -> None:
    """Undoes pack_layers()."""
    drop_role(model, ROLE)
