"""intel_extension_for_pytorch.optim._lamb"""
from ...optim import Lamb

__all__ = ["Lamb"]
