"""intel_extension_for_pytorch.llm: functions and modules of ipex_studio.llm."""
from . import functional, modules

__all__ = ["functional", "modules"]
