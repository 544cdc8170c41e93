"""intel_extension_for_pytorch.optim._lars"""
from ...optim import Lars, create_optimizer_lars

__all__ = ["Lars", "create_optimizer_lars"]
