"""intel_extension_for_pytorch.llm.functional: what ipex_studio.llm.functional and ipex_studio.llm.lora have."""
from . import fusions
from .fusions import *  # noqa: F401,F403 - the names are the modules' __all__
