"""All functions of ours with gradients in one place: those of ipex_studio.nn and of ipex_studio.llm."""
from .llm import functional as _language
from .llm.functional import *  # noqa: F401,F403 - the names are the module's __all__
from .nn import functional as _layers
from .nn.functional import *  # noqa: F401,F403 - the names are the module's __all__

__all__ = sorted(_language.__all__ + _layers.__all__)
