"""What scripts that import intel_extension_for_pytorch find here: the names of it that ipex_studio has.

This is no product of Intel's. ipex_studio.alias brings it under that name.
"""
import torch as _torch

from .. import (FP32MathMode, alias, disable_auto_channels_last, enable_auto_channels_last, enable_onednn_fusion,
                get_fp32_math_mode, set_fp32_math_mode)
from .._torch_check import minor as _minor
from . import _C, _operators, _tensor, cpu, frontend, fx, llm, nn, optim
from ._verbose import verbose
from .frontend import optimize

__all__ = ["FP32MathMode", "_C", "cpu", "disable_auto_channels_last", "enable_auto_channels_last", "enable_onednn_fusion",
           "frontend", "fx", "get_fp32_math_mode", "llm", "nn", "optim", "optimize", "set_fp32_math_mode", "verbose", "xpu"]
_operators.install()
_tensor.install()
xpu = _torch.xpu
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = verbose.VERBOSE_OFF, verbose.VERBOSE_ON, verbose.VERBOSE_ON_CREATION
__version__ = _minor(_torch.__version__) + ".0"  # scripts compare it with torch's


def __getattr__(name: str):
    if name == "quantization":
        import importlib
        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"ipex_studio has no counterpart of {alias.NAME}.{name} in this version")
