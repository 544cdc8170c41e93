"""intel_extension_for_pytorch.cpu"""
from . import _auto_kernel_selection, utils

__all__ = ["utils"]
