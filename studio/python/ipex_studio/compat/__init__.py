"""What scripts that import intel_extension_for_pytorch find here: the names of it that ipex_studio has.

This is no product of Intel's. ipex_studio.alias brings it under that name.
"""
import torch as _torch

from .. import alias, disable_auto_channels_last, enable_auto_channels_last, enable_onednn_fusion, optimize
from .._torch_check import minor as _minor
from . import frontend

__all__ = ["disable_auto_channels_last", "enable_auto_channels_last", "enable_onednn_fusion", "frontend", "optimize"]
__version__ = _minor(_torch.__version__) + ".0"  # scripts compare it with torch's


def __getattr__(name: str):
    raise AttributeError(f"ipex_studio has no counterpart of {alias.NAME}.{name} in this version")
