"""intel_extension_for_pytorch.nn.utils"""
from . import _model_convert

__all__ = ["_model_convert"]
