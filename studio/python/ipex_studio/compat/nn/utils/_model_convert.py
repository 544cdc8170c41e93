"""intel_extension_for_pytorch.nn.utils._model_convert"""
from ....frontend import replace_dropout as replace_dropout_with_identity

__all__ = ["replace_dropout_with_identity"]
