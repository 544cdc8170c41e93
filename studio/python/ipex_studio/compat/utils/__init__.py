"""intel_extension_for_pytorch.utils"""
from . import channels_last_1d

__all__ = ["channels_last_1d"]
