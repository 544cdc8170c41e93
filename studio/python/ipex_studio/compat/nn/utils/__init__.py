"""intel_extension_for_pytorch.nn.utils"""
from . import _model_convert, _weight_prepack

__all__ = ["_model_convert", "_weight_prepack"]
