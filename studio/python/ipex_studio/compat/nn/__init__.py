"""intel_extension_for_pytorch.nn: functions and modules of ipex_studio.nn."""
from . import functional, modules, utils
from .modules import FrozenBatchNorm2d

__all__ = ["FrozenBatchNorm2d", "functional", "modules", "utils"]
