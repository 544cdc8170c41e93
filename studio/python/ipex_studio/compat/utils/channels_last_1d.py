"""intel_extension_for_pytorch.utils.channels_last_1d: signals with channels last, which torch has no name for."""
import torch
from torch import nn

__all__ = ["is_contiguous_channels_last_1d", "tensor_to_channels_last_1d", "to_channels_last_1d"]


def is_contiguous_channels_last_1d(tensor: torch.Tensor) -> bool:
    """True for a tensor [N, C, W] whose channels lie side by side."""
    return tensor.dim() == 3 and tensor.transpose(1, 2).is_contiguous()


def tensor_to_channels_last_1d(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(1, 2).contiguous().transpose(1, 2) if tensor.dim() == 3 else tensor


def to_channels_last_1d(value):
    """A tensor, or a module with the weights of its Conv1d, with channels last; others as they are."""
    if isinstance(value, nn.Module):
        for module in value.modules():
            if isinstance(module, nn.Conv1d) and "weight" in module._parameters:
                module.weight.data = tensor_to_channels_last_1d(module.weight.data)
        return value
    return tensor_to_channels_last_1d(value)
