"""What scripts that import intel_extension_for_pytorch find here: the names of it that ipex_studio has.

This is no product of Intel's. ipex_studio.alias brings it under that name.
"""
import torch as _torch

from .. import (FP32MathMode, alias, disable_auto_channels_last, enable_auto_channels_last, enable_onednn_fusion,
                get_fp32_math_mode, set_fp32_math_mode)
from .._log import logger as _logger
from .._torch_check import minor as _minor
from . import _C, _operators, _tensor, cpu, frontend, fx, llm, nn, optim, utils
from ._compiler import _get_compiler_backend, _set_compiler_backend, compile
from ._init_on_device import OnDevice
from ._verbose import verbose
from .cpu._auto_kernel_selection import _disable_dnnl, _enable_dnnl, _using_dnnl
from .frontend import fast_bert, optimize

__all__ = ["FP32MathMode", "OnDevice", "_C", "compile", "cpu", "disable_auto_channels_last", "enable_auto_channels_last",
           "enable_onednn_fusion", "fast_bert", "frontend", "fx", "get_fp32_math_mode", "llm", "nn", "optim", "optimize",
           "set_fp32_math_mode", "set_logging_level", "utils", "verbose", "version", "xpu"]
_operators.install()
_tensor.install()
xpu = _torch.xpu
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = verbose.VERBOSE_OFF, verbose.VERBOSE_ON, verbose.VERBOSE_ON_CREATION
__version__ = _minor(_torch.__version__) + ".0"  # scripts compare it with torch's


def set_logging_level(level) -> None:
    """Sets the least level, by name or number, of what is said."""
    _logger.setLevel(level.upper() if isinstance(level, str) else level)


def version() -> None:
    """Prints what answers under this name."""
    from .._build import VERSION
    print(f"{alias.NAME} version: {__version__}, answered by ipex_studio {VERSION} with torch {_torch.__version__}")


def __getattr__(name: str):
    if name == "quantization":
        import importlib
        return importlib.import_module("." + name, __name__)
    if name in ("RoIAlign", "roi_align"):  # public until the extension overrode torchvision's
        from torchvision import ops
        return getattr(ops, name)
    raise AttributeError(f"ipex_studio has no counterpart of {alias.NAME}.{name} in this version")
