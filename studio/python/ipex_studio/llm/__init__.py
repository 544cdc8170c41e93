"""Operators and modules of language models, with gradients.

    from ipex_studio.llm.functional import attention, rms_norm, rotary_embedding
    from ipex_studio.llm.modules import Linear2SiluMul, RMSNorm, RotaryEmbedding
    from ipex_studio.llm.weight_only import WeightOnlyQuantizedLinear
"""
from . import experts, functional, lora, modules, state_space, weight_only

__all__ = ["experts", "functional", "lora", "modules", "state_space", "weight_only"]
