"""Linear layers whose weights have 4 or 8 bits: made from floats, or from files of GPTQ and AWQ.

    layer = WeightOnlyQuantizedLinear.from_float(linear, bits=4, group=128)
    layer = WeightOnlyQuantizedLinear.from_gptq(qweight, qzeros, scales, g_idx)
"""
from typing import Optional

import torch
from torch.nn import functional as stock

from .. import _engine

__all__ = ["WeightOnlyQuantizedLinear"]

_BLOCK = 32  # weights that are packed together; groups are multiples of it
_ZERO = 8  # the nibble of the even level 0


def packed_nibbles(nibbles: torch.Tensor, apart: int, fill: int = 0) -> torch.Tensor:
    """Rows of nibbles (N, K) as bytes whose halves are `apart` in a row; rows are filled up with `fill`."""
    padded = stock.pad(nibbles, (0, -nibbles.shape[1] % (2 * apart)), value=fill).to(torch.uint8)
    blocks = padded.reshape(len(padded), padded.shape[1] // (2 * apart), 2, apart)
    return (blocks[:, :, 0] | blocks[:, :, 1] << 4).flatten(1).contiguous()


def unpacked_nibbles(packed: torch.Tensor, apart: int, depth: Optional[int] = None) -> torch.Tensor:
    """The nibbles that packed_nibbles() packed; the first `depth` of each row."""
    blocks = packed.reshape(len(packed), packed.shape[1] // apart, apart)
    return torch.stack((blocks & 15, blocks >> 4), 2).flatten(1)[:, :depth]


def unpacked(packed: torch.Tensor, depth: int) -> torch.Tensor:
    """The nibbles (N, depth) of a layer's weight."""
    return unpacked_nibbles(packed, _BLOCK // 2, depth)


def nf4_places(ratios: torch.Tensor) -> torch.Tensor:
    """The places of the levels of NF4 that are nearest."""
    table = torch.tensor(_engine.NF4_LEVELS)
    return torch.bucketize(ratios, (table[1:] + table[:-1]) / 2)


def nf4_values(places: torch.Tensor) -> torch.Tensor:
    return torch.tensor(_engine.NF4_LEVELS)[places.long()]


def _nibbles(words: torch.Tensor, order=range(8)) -> torch.Tensor:
    """The 8 nibbles of each int32 along a new last axis; nibble i stands at order[i]."""
    result = words.new_empty(*words.shape, 8)
    for nibble, place in enumerate(order):
        result[..., place] = words >> 4 * nibble & 15
    return result


class WeightOnlyQuantizedLinear(torch.nn.Module):
    """x·weightᵀ + bias, where weight = scale · (level - zero), with a scale and a zero for each group of inputs.

    Levels are integers, or of NF4 ones that lie closer where most weights are (`kind` "nf4", 4 bits, no zeros).

    Buffers: weight, packed; scales (N, groups), float32; corrections (groups, N), what zeros add for each sum of a
    group's inputs, or None where all zeros are 0; order, the inputs in the order of the groups, or None. Inputs may have
    gradients; weights have none.
    """

    kind = "even"  # of layers that were pickled before there were others

    def __init__(self, levels: torch.Tensor, scales: torch.Tensor, group: int, bits: int,
                 zeros: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None,
                 order: Optional[torch.Tensor] = None, kind: str = "even"):
        """levels: (N, K), signed; places among the sixteen less 8 for `kind` "nf4". scales, zeros: (N, groups); zeros
        are in levels. group: a multiple of 32."""
        super().__init__()
        if bits not in (4, 8) or group <= 0 or group % _BLOCK:
            raise ValueError(f"weights have 4 or 8 bits and groups of a multiple of {_BLOCK}, not {bits} bits and "
                             f"groups of {group}")
        if kind not in ("even", "nf4") or (kind == "nf4" and (bits != 4 or zeros is not None)):
            raise ValueError(f"levels are even, or nf4 of 4 bits without zeros, not {kind} of {bits} bits")
        self.out_features, self.in_features = levels.shape
        self.bits, self.group, self.kind = bits, group, kind
        packed = packed_nibbles(levels.long() + _ZERO, _BLOCK // 2, _ZERO) if bits == 4 else levels.to(torch.int8).contiguous()
        corrections = None
        if zeros is not None and zeros.any():
            corrections = -(zeros.float() * scales.float()).t().contiguous()
        for name, buffer in (("weight", packed), ("scales", scales.float().contiguous()), ("corrections", corrections),
                             ("order", order), ("bias", None if bias is None else bias.detach().float())):
            self.register_buffer(name, buffer)

    @classmethod
    def from_float(cls, linear: torch.nn.Linear, bits: int = 4, group: int = 128,
                   symmetric: bool = True, kind: str = "even") -> "WeightOnlyQuantizedLinear":
        """Levels nearest to the weights: symmetric ones and NF4's by the largest magnitude of a group, others by its
        range."""
        weight = linear.weight.detach().float()
        rows, depth = weight.shape
        groups = stock.pad(weight, (0, -depth % group)).view(rows, -1, group)
        smallest = torch.finfo(torch.float32).eps
        top = 2 ** (bits - 1) - 1
        if kind == "nf4":
            scales, zeros = groups.abs().amax(-1).clamp_min(smallest), None
            levels = nf4_places(groups / scales[..., None]) - _ZERO
        elif symmetric:
            scales, zeros = (groups.abs().amax(-1) / top).clamp_min(smallest), None
            levels = (groups / scales[..., None]).round().clamp(-top, top)
        else:
            low, high = groups.amin(-1).clamp_max(0), groups.amax(-1).clamp_min(0)
            scales = ((high - low) / (2 * top + 1)).clamp_min(smallest)
            zeros = -(low / scales).round() - top - 1
            levels = ((groups / scales[..., None]).round() + zeros[..., None]).clamp(-top - 1, top)
        return cls(levels.flatten(1)[:, :depth], scales, group, bits, zeros, linear.bias, kind=kind)

    @classmethod
    def from_gptq(cls, qweight: torch.Tensor, qzeros: torch.Tensor, scales: torch.Tensor,
                  g_idx: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None,
                  zeros_less_one: bool = True) -> "WeightOnlyQuantizedLinear":
        """A layer of GPTQ with 4 bits.

        qweight: int32 (K / 8, N), qzeros: int32 (groups, N / 8), scales: (groups, N), g_idx: (K,), the group of each
        input. zeros_less_one: zeros are stored less 1, as GPTQ's first format does.
        """
        levels = _nibbles(qweight).transpose(1, 2).flatten(0, 1)
        zeros = _nibbles(qzeros).flatten(1) + int(zeros_less_one)
        groups, depth = len(scales), len(levels)
        group = (depth + groups - 1) // groups
        order = None
        if g_idx is not None and not torch.equal(g_idx.long(), torch.arange(depth) // group):
            counts = torch.bincount(g_idx.long(), minlength=groups)
            if not bool((counts[:-1] == group).all()):
                raise ValueError("from_gptq: groups of g_idx differ in size")
            order = g_idx.long().sort(stable=True)[1]
            levels = levels[order]
        return cls(levels.t() - _ZERO, scales.t(), cls._whole(group, groups), 4, zeros.t() - _ZERO, bias, order)

    @classmethod
    def from_awq(cls, qweight: torch.Tensor, qzeros: torch.Tensor, scales: torch.Tensor,
                 bias: Optional[torch.Tensor] = None) -> "WeightOnlyQuantizedLinear":
        """A layer of AWQ with 4 bits. qweight: int32 (K, N / 8), qzeros: int32 (groups, N / 8), scales: (groups, N)."""
        order = (0, 2, 4, 6, 1, 3, 5, 7)
        levels, zeros = (_nibbles(each, order).flatten(1) for each in (qweight, qzeros))
        groups = len(scales)
        group = (len(levels) + groups - 1) // groups
        return cls(levels.t() - _ZERO, scales.t(), cls._whole(group, groups), 4, zeros.t() - _ZERO, bias)

    @staticmethod
    def _whole(group: int, groups: int) -> int:
        """The size of groups; that of a single one may be filled up."""
        return group if groups > 1 else (group + _BLOCK - 1) // _BLOCK * _BLOCK

    def dequantized(self) -> torch.Tensor:
        """The weights as float32 (N, K)."""
        places = unpacked(self.weight, self.in_features) if self.bits == 4 else self.weight
        levels = nf4_values(places) if self.kind == "nf4" else places.float()
        if self.bits == 4 and self.kind == "even":
            levels = levels - _ZERO
        group_of = torch.arange(self.in_features) // self.group
        weight = levels * self.scales[:, group_of]
        if self.corrections is not None:
            weight = weight + self.corrections.t()[:, group_of]
        return weight if self.order is None else weight[:, self.order.argsort()]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled() and x.requires_grad:
            bias = None if self.bias is None else self.bias.to(x.dtype)
            return stock.linear(x, self.dequantized().to(x.dtype), bias)
        if self.order is not None:
            x = x.index_select(-1, self.order)
        result = torch.ops.ipex_studio.woq_linear(x, self.weight, self.scales, self.bias, self.bits, self.in_features,
                                                  self.group, self.kind)
        if self.corrections is None:
            return result
        sums = stock.pad(x.float(), (0, -self.in_features % self.group)).unflatten(-1, (-1, self.group)).sum(-1)
        return result + (sums @ self.corrections).to(x.dtype)

    def extra_repr(self) -> str:
        return (f"in_features={self.in_features}, out_features={self.out_features}, bits={self.bits}, "
                f"group={self.group}, levels={self.kind}, bias={self.bias is not None}")
