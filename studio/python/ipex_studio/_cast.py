"""Weights in BF16 and in channels-last order, while state_dict keeps the form that stock PyTorch reads."""
import weakref
from typing import Dict, Iterator, Tuple

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
    """Casts layers that own their parameters, or share them among layers of CAST; others stay in FP32 as a whole."""
    layers = list(_cast_layers(model))
    kept = {id(parameter) for module in model.modules() if module not in layers
            for parameter in module._parameters.values() if parameter is not None}
    while True:
        stay = [module for module in layers if any(id(parameter) in kept for parameter in module._parameters.values())]
        if not stay:
            break
        layers = [module for module in layers if module not in stay]
        kept.update(id(parameter) for module in stay for parameter in module._parameters.values() if parameter is not None)
    for module in layers:
        for parameter in module._parameters.values():
            if parameter is not None and parameter.dtype == torch.float32:
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
        state[prefix + name] = _in_fp32(module._parameters[name], value)


# Parameters in FP32 by their identities, so that entries of a state_dict that share a parameter share memory, too.
_public: Dict[int, Tuple[weakref.ref, int, weakref.ref, int]] = {}


def _in_fp32(parameter: nn.Parameter, value: torch.Tensor) -> torch.Tensor:
    """What state_dict gives for a parameter: the same tensor as before while that lives and neither was written to."""
    owner, version, made, made_version = _public.get(id(parameter), (None, 0, None, 0))
    known = made() if owner is not None and owner() is parameter and version == parameter._version else None
    if known is not None and known._version == made_version:
        return known
    public = value.float()
    key = id(parameter)
    _public[key] = (weakref.ref(parameter, lambda _: _public.pop(key, None)), parameter._version, weakref.ref(public),
                    public._version)
    return public
