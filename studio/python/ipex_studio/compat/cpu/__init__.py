"""intel_extension_for_pytorch.cpu"""
from . import _auto_kernel_selection, runtime, utils

__all__ = ["runtime", "utils"]
