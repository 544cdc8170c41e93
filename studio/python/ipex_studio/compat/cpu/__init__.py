"""intel_extension_for_pytorch.cpu"""
from . import utils

__all__ = ["utils"]
