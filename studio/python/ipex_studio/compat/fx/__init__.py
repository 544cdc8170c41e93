"""intel_extension_for_pytorch.fx"""
from . import concat_linear

__all__ = ["concat_linear"]
