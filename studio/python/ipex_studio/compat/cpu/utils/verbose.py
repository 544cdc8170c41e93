"""intel_extension_for_pytorch.cpu.utils.verbose"""
from ..._verbose import verbose

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "VERBOSE_ON_CREATION", "verbose"]
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = verbose.VERBOSE_OFF, verbose.VERBOSE_ON, verbose.VERBOSE_ON_CREATION
