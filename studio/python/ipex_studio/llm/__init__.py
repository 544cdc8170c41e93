"""Operators and modules of language models, with gradients.

    from ipex_studio.llm.functional import attention, rms_norm, rotary_embedding
    from ipex_studio.llm.modules import Linear2SiluMul, RMSNorm, RotaryEmbedding
"""
from . import functional, modules

__all__ = ["functional", "modules"]
