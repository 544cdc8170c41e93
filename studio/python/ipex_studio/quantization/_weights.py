"""Weights as integers and back, in the layouts of Intel Extension for PyTorch.

Weights are (N, K). INT8 is int8 (N, K). Four bits are uint8 (N, (K + 1) / 2), the even columns in the lower halves: INT4
from 0 to 15, NF4 the places of its sixteen levels. Scales and zero points are (N,) per channel, (N, groups) per block; None
in the place of zero points means symmetric weights, whose INT4 zero is 8.
"""
from typing import Optional, Tuple

import torch
from torch.nn import functional as stock

from ..llm import weight_only
from ._mappings import WoqWeightDtype

INT4_ZERO = 8  # of symmetric weights
_FOUR_BITS = (WoqWeightDtype.INT4, WoqWeightDtype.NF4)
_Quantized = Tuple[torch.Tensor, torch.Tensor, Optional[torch.Tensor]]


def pack_halves(levels: torch.Tensor) -> torch.Tensor:
    """Rows of numbers from 0 to 15, two in a byte."""
    return weight_only.packed_nibbles(levels, 1)


def unpack_halves(packed: torch.Tensor, columns: Optional[int] = None) -> torch.Tensor:
    """What pack_halves() packed; `columns` of them."""
    return weight_only.unpacked_nibbles(packed, 1, columns)


def _check(weight: torch.Tensor, dtype: int, group: int, symmetric: bool = True) -> None:
    assert weight.dim() == 2, f"Weights have two axes, not {weight.dim()}."
    assert dtype in (WoqWeightDtype.INT8, *_FOUR_BITS), f"Weights are stored as INT8, INT4 or NF4, not as {dtype!r}."
    assert group > 0, f"group_size is a positive number, not {group}."
    assert symmetric or dtype != WoqWeightDtype.NF4, "NF4 has no zero points: give sym_quant=True."


def _parameters(groups: torch.Tensor, dtype: int, symmetric: bool) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """Scales and zero points (N, groups) for weights (N, groups, size)."""
    low, high = groups.amin(-1).clamp_max(0), groups.amax(-1).clamp_min(0)
    smallest = torch.finfo(torch.float32).eps
    if dtype == WoqWeightDtype.NF4 or symmetric:
        top = {WoqWeightDtype.INT8: 127, WoqWeightDtype.INT4: 7, WoqWeightDtype.NF4: 1}[dtype]
        return (torch.maximum(high, -low) / top).clamp_min(smallest), None
    scales = ((high - low) / (255 if dtype == WoqWeightDtype.INT8 else 15)).clamp_min(smallest)
    return scales, -torch.round(low / scales) - (128 if dtype == WoqWeightDtype.INT8 else 0)


def _quantize(weight: torch.Tensor, dtype: int, group: int, scales: Optional[torch.Tensor],
              zero_points: Optional[torch.Tensor], symmetric: bool) -> _Quantized:
    _check(weight, dtype, group, symmetric)
    rows, columns = weight.shape
    groups = stock.pad(weight.detach().float(), (0, -columns % group)).view(rows, -1, group)
    if scales is None or not (symmetric or zero_points is not None):
        scales, zero_points = _parameters(groups, dtype, symmetric)
    ratios = groups * (1 / scales.view(rows, -1, 1))
    if dtype == WoqWeightDtype.NF4:
        levels = weight_only.nf4_places(ratios)
    else:
        zero = (0 if dtype == WoqWeightDtype.INT8 else INT4_ZERO) if symmetric else zero_points.view(rows, -1, 1)
        low, high = (-128, 127) if dtype == WoqWeightDtype.INT8 else (0, 15)
        levels = (ratios.round() + zero).clamp(low, high)
    levels = levels.flatten(1)[:, :columns]
    packed = levels.to(torch.int8).contiguous() if dtype == WoqWeightDtype.INT8 else pack_halves(levels)
    return packed, scales, None if symmetric else zero_points


def _dequantize(packed: torch.Tensor, scales: torch.Tensor, zero_points: Optional[torch.Tensor], dtype: int, group: int,
                columns: int) -> torch.Tensor:
    _check(packed, dtype, group)
    rows = len(packed)
    levels = packed if dtype == WoqWeightDtype.INT8 else unpack_halves(packed, columns)
    if dtype == WoqWeightDtype.NF4:
        levels, zero = weight_only.nf4_values(levels), 0
    elif zero_points is None:
        zero = 0 if dtype == WoqWeightDtype.INT8 else INT4_ZERO
    else:
        zero = zero_points.reshape(rows, -1, 1)
    groups = stock.pad(levels.float(), (0, -columns % group)).view(rows, -1, group)
    return ((groups - zero) * scales.reshape(rows, -1, 1)).flatten(1)[:, :columns].contiguous()


def _columns(packed: torch.Tensor, dtype: int, weight_shape) -> int:
    if weight_shape is not None:
        return weight_shape[1]
    return packed.shape[1] * (2 if dtype in _FOUR_BITS else 1)


def quantize_per_channel(input: torch.Tensor, dtype: int, scales: Optional[torch.Tensor] = None,
                         zero_points: Optional[torch.Tensor] = None, sym_quant: bool = False) -> _Quantized:
    """Weights (N, K), a scale for each row: the quantized weights, scales, and zero points or None.

    `dtype`: WoqWeightDtype.INT8, INT4 or NF4, which is symmetric. Scales and zero points that are not given are those of the
    range of the weights.
    """
    packed, scales, zeros = _quantize(input, dtype, max(input.shape[-1], 1), scales, zero_points, sym_quant)
    return packed, scales.flatten(), None if zeros is None else zeros.flatten()


def dequantize_per_channel(qt: torch.Tensor, scales: torch.Tensor, zps: Optional[torch.Tensor], dtype: int,
                           weight_shape=None) -> torch.Tensor:
    """The weights of quantize_per_channel(). `weight_shape`: theirs, where K is odd and weights have four bits."""
    columns = _columns(qt, dtype, weight_shape)
    return _dequantize(qt, scales, zps, dtype, max(columns, 1), columns)


def quantize_per_block(input: torch.Tensor, dtype: int, group_size: int, scales: Optional[torch.Tensor] = None,
                       zero_points: Optional[torch.Tensor] = None, sym_quant: bool = False) -> _Quantized:
    """quantize_per_channel() with a scale for each `group_size` weights of a row."""
    return _quantize(input, dtype, group_size, scales, zero_points, sym_quant)


def dequantize_per_block(qt: torch.Tensor, scales: torch.Tensor, zps: Optional[torch.Tensor], dtype: int, group_size: int,
                         weight_shape=None) -> torch.Tensor:
    """The weights of quantize_per_block()."""
    return _dequantize(qt, scales, zps, dtype, group_size, _columns(qt, dtype, weight_shape))
