"""Linear layers with weights of 4 or 8 bits, by the interface of Intel Extension for PyTorch.

Products are FP32 sums, whatever lower precision a qconfig allows; within autocast operands and results are of its dtype.
"""
import itertools
import weakref
from typing import Any, Optional

import torch
from torch.nn import functional as stock

from .._versions import autocast_dtype, autocast_is_on
from ..errors import Error
from ..llm import weight_only
from ._mappings import QConfigWoq, WoqActQuantMode, WoqLowpMode, WoqWeightDtype, WoqWeightQScheme
from ._weights import INT4_ZERO, pack_halves, quantize_per_block, quantize_per_channel, unpack_halves

_BLOCK = 32  # groups that are multiples of it are computed from their bits

_handles = itertools.count(1)
_by_handle: "weakref.WeakValueDictionary[int, PackedWeight]" = weakref.WeakValueDictionary()


class PackedWeight:
    """The weight of a layer as kernels read it, with its scales, and its products.

    levels: (N, K), signed; of NF4 the places less 8. scales, zeros: (N, groups), zeros in levels, or None. g_idx: the group
    of each input, or None where they lie side by side.
    """

    def __init__(self, levels: torch.Tensor, scales: torch.Tensor, zeros: Optional[torch.Tensor],
                 bias: Optional[torch.Tensor], dtype: int, group: int, g_idx: Optional[torch.Tensor] = None) -> None:
        self.dtype, self.group, self.columns = dtype, group, levels.shape[1]
        self._bits = 8 if dtype == WoqWeightDtype.INT8 else 4
        self._scales, self._zeros, self._g_idx = scales, zeros, g_idx
        self._bias = None if bias is None else bias.detach().float()
        self._levels, self._kernel = None, None
        if group > 0 and group % _BLOCK:
            self._levels = levels.to(torch.int8)
            return
        kind = "nf4" if dtype == WoqWeightDtype.NF4 else "even"
        order = None if g_idx is None else g_idx.long().sort(stable=True)[1]
        self._kernel = weight_only.WeightOnlyQuantizedLinear(
            levels if order is None else levels[:, order], scales,
            group if group > 0 else self.columns + -self.columns % _BLOCK, self._bits, zeros, self._bias, order, kind)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_handle"}

    def get_weight(self) -> torch.Tensor:
        return self._levels if self._kernel is None else self._kernel.weight

    def to_public(self, weight: torch.Tensor) -> torch.Tensor:
        """get_weight() as quantize_per_channel() and quantize_per_block() give weights."""
        if self._bits == 8:
            order = None if self._kernel is None else self._kernel.order
            return weight.clone() if order is None else weight[:, order.argsort()]
        if self._kernel is None:
            return pack_halves(weight + INT4_ZERO)
        levels = weight_only.unpacked(weight, self.columns)
        return pack_halves(levels if self._kernel.order is None else levels[:, self._kernel.order.argsort()])

    def get_scales(self) -> torch.Tensor:
        return self._scales if self.group > 0 else self._scales[:, 0]

    def get_zero_points(self) -> Optional[torch.Tensor]:
        if self._zeros is None:
            return None
        zeros = self._zeros if self._bits == 8 else self._zeros + INT4_ZERO
        return zeros if self.group > 0 else zeros[:, 0]

    def get_bias(self) -> Optional[torch.Tensor]:
        return self._bias

    def get_g_idx(self) -> Optional[torch.Tensor]:
        return self._g_idx

    def get_data_handle(self) -> torch.Tensor:
        """A number that operators know this weight by, as long as it lives; it is no address."""
        if "_handle" not in self.__dict__:
            self._handle = next(_handles)
            _by_handle[self._handle] = self
        return torch.tensor([self._handle])

    def dequantized(self) -> torch.Tensor:
        """The weights as float32 (N, K)."""
        if self._kernel is not None:
            return self._kernel.dequantized()
        group_of = torch.arange(self.columns) // self.group if self._g_idx is None else self._g_idx.long()
        levels = self._levels if self._zeros is None else self._levels - self._zeros[:, group_of]
        if self.dtype == WoqWeightDtype.NF4:
            levels = weight_only.nf4_values(levels + INT4_ZERO)
        return levels * self._scales[:, group_of]

    def linear(self, x: torch.Tensor) -> torch.Tensor:
        """x·weightᵀ + bias, in the type of x or of autocast."""
        if autocast_is_on():
            x = x.to(autocast_dtype())
        if torch._C._get_tracing_state() is not None:
            return self._traced(x)
        if self._kernel is not None:
            return self._kernel(x.float()).to(x.dtype)
        return stock.linear(x.float(), self.dequantized(), self._bias).to(x.dtype)

    def _traced(self, x: torch.Tensor) -> torch.Tensor:
        """linear() in PyTorch's own operators, so that what is saved needs nothing else."""
        state = torch._C._get_tracing_state()
        torch._C._set_tracing_state(None)  # weights are constants of the trace
        try:
            by_rows = self._bits == 8 and self._scales.shape[1] == 1 and self._g_idx is None and self._kernel is not None
            if by_rows and x.dtype == torch.float32:
                zeros = torch.zeros(len(self._scales)) if self._zeros is None else self._zeros[:, 0]
                weight = torch._make_per_channel_quantized_tensor(self._kernel.weight, self._scales[:, 0].double(),
                                                                  zeros.long(), 0)
            else:
                weight = self.dequantized().to(x.dtype)
            bias = None if self._bias is None else self._bias.to(x.dtype)
        finally:
            torch._C._set_tracing_state(state)
        return stock.linear(x, weight.dequantize() if weight.is_quantized else weight, bias)


def by_handle(handle: torch.Tensor) -> PackedWeight:
    """The weight of a handle. Raises Error for a number that no weight has, such as one from a file."""
    found = _by_handle.get(int(handle)) if handle.numel() == 1 else None
    if found is None:
        raise Error("The handle is of no weight of this process: make the layer here, or load its file.", exit_code=2)
    return found


def packed_weight(qweight: torch.Tensor, dtype: int, shape, scales: torch.Tensor, zero_points: Optional[torch.Tensor],
                  bias: Optional[torch.Tensor], group: int, g_idx: Optional[torch.Tensor] = None) -> PackedWeight:
    """A weight (N, K) = `shape` from what quantize_per_channel() or quantize_per_block() gave. Four bits may also be eight
    in an int32, weights and zero points alike."""
    rows, columns = shape
    count = 1 if group <= 0 else (columns + group - 1) // group
    scales = scales.detach().float().reshape(rows, count)
    if dtype == WoqWeightDtype.INT8:
        levels, zero = qweight, 0
    else:
        levels, zero = unpack_halves(qweight.contiguous().view(torch.uint8), columns).to(torch.int8) - INT4_ZERO, INT4_ZERO
    zeros = None
    if zero_points is not None and dtype != WoqWeightDtype.NF4:
        if zero_points.dtype == torch.int32 and dtype == WoqWeightDtype.INT4:
            zero_points = unpack_halves(zero_points.contiguous().view(torch.uint8), count)
        zeros = zero_points.detach().float().reshape(rows, count) - zero
    if g_idx is not None and bool((torch.bincount(g_idx.long(), minlength=count)[:-1] != group).any()):
        raise ValueError("Groups of g_idx differ in size.")
    return PackedWeight(levels, scales, zeros, bias, dtype, group, g_idx)


class WeightOnlyQuantizedLinear(torch.nn.Module):
    """A linear layer whose weight has 4 or 8 bits, which convert() makes of nn.Linear."""

    def __init__(self, in_features: int, out_features: int, packed: PackedWeight, qconfig: Any = None) -> None:
        super().__init__()
        self.in_features, self.out_features, self.dtype = in_features, out_features, packed.dtype
        self._op_context = packed
        self.bias = packed.get_bias() is not None
        self._group_size = packed.group
        self._lowp_mode = getattr(qconfig, "lowp_mode", WoqLowpMode.NONE)
        self._act_quant_mode = getattr(qconfig, "act_quant_mode", WoqActQuantMode.NONE)
        self._cache_weight_for_large_batch = getattr(qconfig, "cache_weight_for_large_batch", False)
        symmetric = packed.get_zero_points() is None
        self._weight_qscheme = WoqWeightQScheme.SYMMETRIC if symmetric else WoqWeightQScheme.ASYMMETRIC

    @property
    def weight(self) -> torch.Tensor:
        """The packed weight: int8 for INT8, uint8 for four bits in groups that kernels read."""
        return self._op_context.get_weight()

    @classmethod
    def from_float(cls, mod: torch.nn.Linear, scales: Optional[torch.Tensor] = None,
                   zero_points: Optional[torch.Tensor] = None) -> torch.nn.Module:
        """The layer of an nn.Linear, by its `qconfig`; the nn.Linear itself if that is none of weight-only quantization."""
        assert isinstance(mod, torch.nn.Linear), f"from_float() takes a torch.nn.Linear, not a {type(mod).__name__}."
        assert hasattr(mod, "qconfig"), "The layer has no qconfig."
        qconfig = mod.qconfig
        if not isinstance(qconfig, QConfigWoq):
            return mod
        symmetric = qconfig.weight_qscheme == WoqWeightQScheme.SYMMETRIC
        if qconfig.group_size > 0:
            made = quantize_per_block(mod.weight, qconfig.weight_dtype, qconfig.group_size, scales, zero_points, symmetric)
        else:
            made = quantize_per_channel(mod.weight, qconfig.weight_dtype, scales, zero_points, symmetric)
        packed = packed_weight(made[0], qconfig.weight_dtype, mod.weight.shape, made[1], made[2], mod.bias,
                               qconfig.group_size)
        return cls(mod.in_features, mod.out_features, packed, qconfig)

    @classmethod
    def from_float_and_qweight(cls, mod: torch.nn.Linear, qweight: torch.Tensor, dtype: int, scales: torch.Tensor,
                               zero_points: Optional[torch.Tensor], bias: Optional[torch.Tensor] = None,
                               group_size: int = -1, g_idx: Optional[torch.Tensor] = None,
                               weight_format: int = 0) -> "WeightOnlyQuantizedLinear":
        """The layer of weights that are quantized already, of the sizes of an nn.Linear, whose bias stands in for none.
        Layouts of GPTQ and AWQ are read by ipex_studio.llm.weight_only."""
        if weight_format != 0:
            raise Error("Weights in the layouts of GPTQ and AWQ are read by from_gptq() and from_awq() of "
                        "ipex_studio.llm.weight_only.WeightOnlyQuantizedLinear.", exit_code=5)
        shape = (mod.out_features, mod.in_features)
        packed = packed_weight(qweight, dtype, shape, scales, zero_points, mod.bias if bias is None else bias, group_size,
                               g_idx)
        return cls(mod.in_features, mod.out_features, packed, getattr(mod, "qconfig", None))

    @classmethod
    def from_float_and_int4_weight(cls, mod: torch.nn.Linear, qweight: torch.Tensor, scales: torch.Tensor,
                                   zero_points: Optional[torch.Tensor], bias: Optional[torch.Tensor] = None,
                                   group_size: int = -1, g_idx: Optional[torch.Tensor] = None,
                                   weight_format: int = 0) -> "WeightOnlyQuantizedLinear":
        return cls.from_float_and_qweight(mod, qweight, WoqWeightDtype.INT4, scales, zero_points, bias, group_size, g_idx,
                                          weight_format)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self._op_context.linear(x)

    def extra_repr(self) -> str:
        return (f"in_features={self.in_features}, out_features={self.out_features}, "
                f"dtype={WoqWeightDtype(self.dtype).name.lower()}, bias={self.bias}, group_size={self._group_size}")
