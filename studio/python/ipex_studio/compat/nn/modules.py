"""intel_extension_for_pytorch.nn.modules: what ipex_studio.nn.modules has."""
from ...nn.modules import *  # noqa: F401,F403 - the names are the module's __all__
