"""intel_extension_for_pytorch.nn.modules.weight_only_quantization"""
from ....quantization._weight_only import WeightOnlyQuantizedLinear

__all__ = ["WeightOnlyQuantizedLinear"]
