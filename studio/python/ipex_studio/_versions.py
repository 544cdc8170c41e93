"""Differences between versions of torch (1.13 and later), all in one place."""
import functools
import sys

import torch


def autocast_is_on() -> bool:
    """True within autocast on CPUs."""
    if hasattr(torch, "get_autocast_dtype"):  # since 2.4, which deprecates the other
        return torch.is_autocast_enabled("cpu")
    return torch.is_autocast_cpu_enabled()


def is_exported(model: torch.nn.Module) -> bool:
    """True for the module of a program of torch.export: its graph was made in one mode, whatever `training` says."""
    kind = getattr(sys.modules.get("torch.export._unlift"), "_StatefulGraphModule", None)
    return kind is not None and isinstance(model, kind)


def is_traced() -> bool:
    """True while Python code is turned into a graph, of TorchScript or of torch.compile."""
    if hasattr(torch, "compiler") and torch.compiler.is_compiling():
        return True
    return torch.jit.is_tracing()


def autocast_dtype() -> torch.dtype:
    """What autocast computes in on CPUs."""
    return torch.get_autocast_dtype("cpu") if hasattr(torch, "get_autocast_dtype") else torch.get_autocast_cpu_dtype()


def set_autocast(enabled: bool) -> None:
    """Switches autocast on CPUs."""
    if hasattr(torch, "get_autocast_dtype"):
        torch.set_autocast_enabled("cpu", enabled)
    else:
        torch.set_autocast_cpu_enabled(enabled)


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Chooses what autocast computes in on CPUs."""
    if hasattr(torch, "get_autocast_dtype"):
        torch.set_autocast_dtype("cpu", dtype)
    else:
        torch.set_autocast_cpu_dtype(dtype)


if hasattr(torch.amp, "custom_fwd"):  # since 2.4
    custom_fwd = functools.partial(torch.amp.custom_fwd, device_type="cpu")
    custom_bwd = functools.partial(torch.amp.custom_bwd, device_type="cpu")
else:
    custom_fwd, custom_bwd = torch.cuda.amp.custom_fwd, torch.cuda.amp.custom_bwd
