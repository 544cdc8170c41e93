"""intel_extension_for_pytorch.cpu.utils"""
from . import verbose

__all__ = ["verbose"]
