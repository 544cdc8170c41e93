"""intel_extension_for_pytorch.nn.functional: what ipex_studio.nn.functional has."""
from ....nn.functional import *  # noqa: F401,F403 - the names are the module's __all__
from . import _embeddingbag  # noqa: F401 - scripts reach it as an attribute
