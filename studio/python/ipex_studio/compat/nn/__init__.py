"""intel_extension_for_pytorch.nn: functions and modules of ipex_studio.nn."""
from . import functional, modules

__all__ = ["functional", "modules"]
