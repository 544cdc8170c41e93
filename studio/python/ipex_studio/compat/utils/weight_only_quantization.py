"""intel_extension_for_pytorch.utils.weight_only_quantization"""
from torch.ao.quantization import QConfigMapping

__all__ = []


def _woq_enable_weight_cache_for_large_batch(qconfig_mapping):
    """Notes in a qconfig, or a mapping's, that a layer may keep a copy of its weight for large batches: layers here keep
    one form that is quick for any."""
    if isinstance(qconfig_mapping, QConfigMapping):
        return qconfig_mapping.set_global(_woq_enable_weight_cache_for_large_batch(qconfig_mapping.global_qconfig))
    return qconfig_mapping._replace(cache_weight_for_large_batch=True)
