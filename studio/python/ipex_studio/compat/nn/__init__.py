"""intel_extension_for_pytorch.nn: functions and modules of ipex_studio.nn."""
from . import functional, modules, utils

__all__ = ["functional", "modules", "utils"]
