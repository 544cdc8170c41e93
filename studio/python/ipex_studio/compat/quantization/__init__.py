"""intel_extension_for_pytorch.quantization"""
from ...quantization import *  # noqa: F403 - the same names
from ...quantization import __all__  # noqa: F401
from . import _utils  # noqa: F401
