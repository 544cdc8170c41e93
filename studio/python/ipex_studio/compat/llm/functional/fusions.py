"""intel_extension_for_pytorch.llm.functional.fusions"""
from ....llm.functional import *  # noqa: F401,F403 - the names are the modules' __all__
from ....llm.lora import *  # noqa: F401,F403
