"""intel_extension_for_pytorch.optim"""
from . import _lamb, _lars

__all__ = ["_lamb", "_lars"]
