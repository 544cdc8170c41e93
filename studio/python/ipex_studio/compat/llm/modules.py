"""intel_extension_for_pytorch.llm.modules: what ipex_studio.llm.modules has."""
from ...llm.modules import *  # noqa: F401,F403 - the names are the module's __all__
