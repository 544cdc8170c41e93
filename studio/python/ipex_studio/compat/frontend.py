"""intel_extension_for_pytorch.frontend"""
from ..frontend import disable_auto_channels_last, enable_auto_channels_last, optimize

__all__ = ["disable_auto_channels_last", "enable_auto_channels_last", "optimize"]
