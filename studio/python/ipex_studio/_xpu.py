"""torch.xpu on a machine without an XPU, for scripts that run on either device.

What has a meaning without a device does that: nothing waits, no memory is taken, and autocast is that of the CPU. What
needs a device is refused by torch as before. Where torch finds an XPU, all stays as it is.
"""
import sys
import types
from typing import Any, Dict

import torch

from . import _versions


class autocast(torch.autocast):  # pylint: disable=invalid-name # as torch.xpu.amp calls it
    """torch.autocast on the CPU, where the tensors are."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.bfloat16, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


_AMP: Dict[str, Any] = {
    "autocast": autocast, "custom_fwd": _versions.custom_fwd, "custom_bwd": _versions.custom_bwd,
    "is_autocast_xpu_enabled": _versions.autocast_is_on, "set_autocast_xpu_enabled": _versions.set_autocast,
    "get_autocast_xpu_dtype": _versions.autocast_dtype, "set_autocast_xpu_dtype": _versions.set_autocast_dtype}


def _answers(value: Any) -> Any:
    """A function that gives the value. Each name gets its own: dynamo keeps one rule for a function and its name."""
    return lambda *_args, **_kwargs: value


# In place of those of torch, which ask for a device.
_WITHOUT_A_DEVICE: Dict[str, Any] = {
    **{name: _answers(None) for name in ("synchronize", "empty_cache", "reset_peak_memory_stats", "manual_seed",
                                         "manual_seed_all")},
    **{name: _answers(0) for name in ("memory_allocated", "max_memory_allocated", "memory_reserved",
                                      "max_memory_reserved")},
    "memory_stats": lambda *_args, **_kwargs: {}}


def _module(name: str) -> types.ModuleType:
    """A module of torch, made if this version has none."""
    module = sys.modules.get("torch." + name)
    if module is None:
        module = sys.modules["torch." + name] = types.ModuleType("torch." + name, __doc__)
        owner, _, last = ("torch." + name).rpartition(".")
        setattr(sys.modules[owner], last, module)
    return module


def install(**others: Any) -> None:
    """Adds what scripts call, and `others`, to torch.xpu where no XPU is."""
    xpu = _module("xpu")
    if not hasattr(xpu, "is_available"):  # before 2.3
        xpu.is_available, xpu.device_count = lambda: False, lambda: 0
    if xpu.is_available():
        return
    vars(xpu).update(_WITHOUT_A_DEVICE, **_AMP, **others)
    vars(_module("xpu.amp")).update(_AMP)
