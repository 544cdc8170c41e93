"""intel_extension_for_pytorch.cpu.utils"""
from . import channels_last_1d

__all__ = ["channels_last_1d"]
