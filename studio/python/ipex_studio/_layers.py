"""Layers of training by kernels of ours. Parameters stay as they are, in channels-last order."""
import collections
from typing import Any, Dict

import torch
from torch import nn

from . import _engine  # noqa: F401 - brings the operators
from ._patched import patch, role

_ROLE = "trained"


def _is_plain(tensor: Any, rank: int) -> bool:
    return type(tensor) in (torch.Tensor, nn.Parameter) and tensor.dtype == torch.float32 and tensor.dim() == rank


def _is_for_kernels(layer: nn.Conv2d, input: Any) -> bool:
    """True if the kernels may compute this call: in FP32, not for a trace, not under autocast."""
    if layer.padding_mode != "zeros" or isinstance(layer.padding, str):
        return False
    if torch.jit.is_tracing() or torch.is_autocast_cpu_enabled():
        return False
    return _is_plain(input, 4) and _is_plain(layer.weight, 4)


@role(_ROLE)
def _trained_members(base: type) -> Dict[str, Any]:
    def forward(self, input):
        if not _is_for_kernels(self, input):
            return base.forward(self, input)
        return torch.ops.ipex_studio.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation,
                                            self.groups)

    return {"forward": forward}


def train_by_kernels(model: nn.Module) -> int:
    """Lets convolutions of images compute themselves and their gradients by kernels of ours, and returns how many do.
    Those that share a weight, are of a class of their own or are parametrized stay as they are."""
    readers = collections.Counter(id(parameter) for module in model.modules()
                                  for parameter in module._parameters.values())
    count = 0
    for module in model.modules():
        own = type(module) is nn.Conv2d and "forward" not in module.__dict__
        if own and readers[id(module._parameters.get("weight"))] == 1:
            patch(module, _ROLE)
            count += 1
    return count


def train_by_torch(model: nn.Module) -> None:
    """Undoes train_by_kernels()."""
    for module in model.modules():
        base = type(module).__dict__.get("_ipex_base")
        if base is nn.Conv2d and type(module).__dict__["_ipex_role"] == _ROLE:
            module.__class__ = base
