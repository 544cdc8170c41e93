"""Low-rank adapters, several of them in one batch: each token, or each text, has an adapter of its own.

Weights: (adapters, out, in), or (adapters, 1, out, in). An adapter's index of -1 is none: its tokens' outputs stay as they
are. Sums are in float32, and rounded once. Results are written to the output.
"""
import torch
from torch.nn import functional as stock

__all__ = ["bgmv_expand", "bgmv_expand_slice", "bgmv_shrink", "sgmv_expand", "sgmv_expand_slice", "sgmv_shrink"]


@torch.no_grad()
def _apply(inputs, weights, output, adapters, scaling, adds) -> torch.Tensor:
    """output (tokens, out) becomes scaling · weights[adapter]·input, plus itself where it `adds`."""
    if weights.dim() == 4:
        weights = weights.squeeze(1)
    if output.shape[1] != weights.shape[1]:
        raise ValueError(f"the adapters give {weights.shape[1]} values a token, and {output.shape[1]} are written")
    adapters = adapters.reshape(-1)
    if len(adapters) != len(inputs) or len(output) != len(inputs):
        raise ValueError(f"{len(inputs)} inputs, {len(output)} outputs and {len(adapters)} indices of adapters")
    if len(adapters) and (adapters.min() < -1 or adapters.max() >= len(weights)):
        raise IndexError(f"indices of adapters are from -1 to {len(weights) - 1}, not {adapters.tolist()}")
    for adapter in adapters.unique().tolist():
        if adapter == -1:
            continue
        rows = (adapters == adapter).nonzero().view(-1)
        result = stock.linear(inputs[rows].float(), weights[adapter].float()) * scaling
        output[rows] = (result + output[rows].float() if adds else result).to(output.dtype)
    return output


def _of_tokens(adapters: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    return torch.repeat_interleave(adapters.reshape(-1), lengths)


def bgmv_shrink(inputs: torch.Tensor, lora_a_weights: torch.Tensor, output_tensor: torch.Tensor,
                lora_indices_tensor: torch.Tensor, scaling: float = 1.0) -> torch.Tensor:
    """Writes scaling · A·input to the first columns of output, as many as A has rows. One adapter a token."""
    _apply(inputs, lora_a_weights, output_tensor[:, :lora_a_weights.shape[-2]], lora_indices_tensor, scaling, False)
    return output_tensor


def bgmv_expand(inputs: torch.Tensor, lora_b_weights: torch.Tensor, output_tensor: torch.Tensor,
                lora_indices_tensor: torch.Tensor, add_inputs: bool = True) -> torch.Tensor:
    """Writes B·input, or adds it, to the first columns of output, as many as B has rows. One adapter a token."""
    return bgmv_expand_slice(inputs, lora_b_weights, output_tensor, lora_indices_tensor, 0, lora_b_weights.shape[-2],
                             add_inputs)


def bgmv_expand_slice(inputs: torch.Tensor, lora_b_weights: torch.Tensor, output_tensor: torch.Tensor,
                      lora_indices_tensor: torch.Tensor, slice_offset: int, slice_size: int,
                      add_inputs: bool = True) -> torch.Tensor:
    """bgmv_expand to the slice_size columns of output from slice_offset on."""
    _apply(inputs, lora_b_weights, output_tensor[:, slice_offset:slice_offset + slice_size], lora_indices_tensor, 1,
           add_inputs)
    return output_tensor


def sgmv_shrink(inputs: torch.Tensor, lora_a_weights: torch.Tensor, output_tensor: torch.Tensor,
                b_seq_start_loc: torch.Tensor, seq_len_tensor: torch.Tensor, lora_indices_tensor: torch.Tensor,
                batches: int, max_seq_length: int, scaling: float) -> torch.Tensor:
    """bgmv_shrink with one adapter a text; the texts' lengths alone tell where they are."""
    return bgmv_shrink(inputs, lora_a_weights, output_tensor, _of_tokens(lora_indices_tensor, seq_len_tensor), scaling)


def sgmv_expand(inputs: torch.Tensor, lora_b_weights: torch.Tensor, output_tensor: torch.Tensor,
                b_seq_start_loc: torch.Tensor, seq_len_tensor: torch.Tensor, lora_indices_tensor: torch.Tensor,
                batches: int, max_seq_length: int, add_inputs: bool = False) -> torch.Tensor:
    """bgmv_expand with one adapter a text."""
    return bgmv_expand(inputs, lora_b_weights, output_tensor, _of_tokens(lora_indices_tensor, seq_len_tensor), add_inputs)


def sgmv_expand_slice(inputs: torch.Tensor, lora_b_weights: torch.Tensor, output_tensor: torch.Tensor,
                      b_seq_start_loc: torch.Tensor, seq_len_tensor: torch.Tensor, lora_indices_tensor: torch.Tensor,
                      batches: int, max_seq_length: int, slice_offset: int, slice_size: int,
                      add_inputs: bool = False) -> torch.Tensor:
    """bgmv_expand_slice with one adapter a text."""
    return bgmv_expand_slice(inputs, lora_b_weights, output_tensor, _of_tokens(lora_indices_tensor, seq_len_tensor),
                             slice_offset, slice_size, add_inputs)
