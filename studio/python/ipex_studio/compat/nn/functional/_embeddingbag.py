"""intel_extension_for_pytorch.nn.functional._embeddingbag: what scripts put in the place of torch.embedding_bag, and back.

Both are PyTorch's own here, which computes FP32 and BF16 tables with their gradients; tables that are many are summed in
one call by nn.modules.MergedEmbeddingBag.
"""
import torch

__all__ = []
torch_embedding_bag = torch.embedding_bag


def _embeddingbag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):
    """Sums, means or largest values of bags, as torch.embedding_bag gives them."""
    return torch_embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
                               include_last_offset, padding_idx)
