"""intel_extension_for_pytorch.quantization._utils"""
from ...quantization._utils import check_model_obsever_has_run

__all__ = ["check_model_obsever_has_run"]
