"""Weights in BF16 and in channels-last order, while state_dict keeps the form that stock PyTorch reads."""
from typing import Iterator

import torch
from torch import nn

from ._patched import stock_class

CAST = (nn.Conv2d, nn.Conv3d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.Linear, nn.Embedding, nn.LSTM,
        nn.ParameterList)
CHANNELS_LAST = ((nn.Conv2d, torch.channels_last), (nn.ConvTranspose2d, torch.channels_last),
                 (nn.Conv3d, torch.channels_last_3d), (nn.ConvTranspose3d, torch.channels_last_3d))


def to_channels_last(model: nn.Module) -> None:
    for module in model.modules():
        for kind, layout in CHANNELS_LAST:
            if isinstance(module, kind) and "weight" in module._parameters:
                module.weight.data = module.weight.data.contiguous(memory_format=layout)


def _cast_layers(model: nn.Module) -> Iterator[nn.Module]:
    return (module for module in model.modules() if stock_class(module) in CAST)


def cast_weights(model: nn.Module, dtype: torch.dtype) -> None:
    """Casts what layers of CAST alone own; a weight that another layer reads too stays in FP32."""
    cast = set(map(id, _cast_layers(model)))
    kept = {id(parameter) for module in model.modules() if id(module) not in cast
            for parameter in module._parameters.values()}
    for module in _cast_layers(model):
        for parameter in module._parameters.values():
            if parameter is not None and id(parameter) not in kept and parameter.dtype == torch.float32:
                parameter.data = parameter.data.to(dtype)
        if _public_state not in module._state_dict_hooks.values():
            module._register_state_dict_hook(_public_state)


def _public_state(module: nn.Module, state, prefix: str, metadata) -> None:
    """A hook of state_dict: parameters in FP32."""
    for name in module._parameters:
        value = state.get(prefix + name)
        if value is None or value.dtype not in (torch.bfloat16, torch.float16):
            continue
        if isinstance(value, nn.Parameter):
            raise AssertionError("state_dict(keep_vars=True) cannot give parameters in FP32: those of this model are "
                                 f"in {value.dtype}; leave keep_vars out.")
        state[prefix + name] = value.float()
