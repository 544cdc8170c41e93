"""Differences between versions of torch (1.13 and later), all in one place."""
import torch


def autocast_is_on() -> bool:
    """True within autocast on CPUs."""
    if hasattr(torch, "get_autocast_dtype"):  # since 2.4, which deprecates the other
        return torch.is_autocast_enabled("cpu")
    return torch.is_autocast_cpu_enabled()
