"""intel_extension_for_pytorch.llm.functional: what ipex_studio.llm.functional has."""
from ...llm.functional import *  # noqa: F401,F403 - the names are the module's __all__
