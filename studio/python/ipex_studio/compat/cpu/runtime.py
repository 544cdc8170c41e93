"""intel_extension_for_pytorch.cpu.runtime: what ipex_studio.cpu.runtime has."""
from ...cpu.runtime import *  # noqa: F401,F403 - the names are the module's __all__
from ...cpu.runtime import MultiStreamBenchmarkModule as _MultiStreamBenchmarkModule  # noqa: F401
