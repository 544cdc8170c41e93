"""Operators of linear layers with weights of 4 or 8 bits, which scripts call with the handle of a layer's weight or with
weights that they packed."""
import functools
import weakref
from typing import Callable, Dict, Tuple

import torch
from torch.nn import functional as stock


def _modules():
    """What computes them; imported when the first is called, for few scripts do."""
    from ..quantization import WoqWeightDtype, _weight_only
    return _weight_only, {"int8": WoqWeightDtype.INT8, "int4": WoqWeightDtype.INT4, "nf4": WoqWeightDtype.NF4}


def _linear(x: torch.Tensor, handle: torch.Tensor) -> torch.Tensor:
    return _modules()[0].by_handle(handle).linear(x)


def _then(function: Callable) -> Callable:
    return lambda x, handle: function(_linear(x, handle))


def _with_others(function: Callable, count: int) -> Callable:
    def run(x, handle, others):
        if len(others) != count:
            raise ValueError(f"the operator takes {count} further operands, not {len(others)}")
        return functools.reduce(function, others, _linear(x, handle))

    return run


# Weights of _pack() by the identities of what it gave, which holds no more than the bits.
_packed: Dict[int, Tuple[weakref.ref, int, object]] = {}


def _pack(weight, dtype, shape, scales, zero_points, bias, g_idx, group_size, lowp_mode):
    """Weights as quantize_per_channel() and quantize_per_block() give them, made ready for _linear_of()."""
    packed = weight.clone()
    _remember(packed, dtype, shape, scales, zero_points, bias, g_idx, group_size)
    return packed, [scales], None if zero_points is None else [zero_points], None if bias is None else [bias], None


def _remember(packed, dtype, shape, scales, zero_points, bias, g_idx, group_size):
    weights, dtypes = _modules()
    key = id(packed)
    made = weights.packed_weight(packed, dtypes[dtype], shape, scales, zero_points, bias, group_size, g_idx)
    _packed[key] = (weakref.ref(packed, lambda _: _packed.pop(key, None)), packed._version, made)
    return made


def _unpack(packed, dtype, shape, lowp_mode):
    return packed.clone()


def _linear_of(x, packed, dtype, shape, scales, zero_points, bias, g_idx, group_size, lowp_mode, act_quant_mode,
               compensation):
    """x·weightᵀ + bias. Sums are FP32, whatever lowp_mode allows."""
    owner, version, made = _packed.get(id(packed), (None, 0, None))
    if owner is None or owner() is not packed or version != packed._version:
        made = _remember(packed, dtype, shape, scales[0], zero_points[0] if zero_points else None,
                         bias[0] if bias else None, g_idx, group_size)
    return made.linear(x)


_NEW_GELU = functools.partial(stock.gelu, approximate="tanh")
_UNARY, _BINARY = "(Tensor input, Tensor W_prepack) -> Tensor", "(Tensor input, Tensor W_prepack, Tensor[] others) -> Tensor"
TORCH_IPEX = (
    ("ipex_woq_linear" + _UNARY, _linear),
    ("woq_linear_gelu" + _UNARY, _then(stock.gelu)),
    ("woq_linear_new_gelu" + _UNARY, _then(_NEW_GELU)),
    ("woq_linear_relu" + _UNARY, _then(torch.relu)),
    ("woq_linear_silu" + _UNARY, _then(stock.silu)),
    ("woq_linear_add" + _BINARY, _with_others(torch.add, 1)),
    ("woq_linear_add_add" + _BINARY, _with_others(torch.add, 2)),
    ("woq_linear_mul" + _BINARY, _with_others(torch.mul, 1)),
    ("woq_linear(Tensor input, Tensor weight, str dtype, int[] shape, Tensor[] scales, Tensor[]? zero_points, "
     "Tensor[]? bias, Tensor? g_idx, int group_size, int lowp_mode, int act_quant_mode, Tensor? compensation) -> Tensor",
     _linear_of),
)
IPEX_PREPACK = (
    ("woq_linear_pack_weight(Tensor W, str W_dtype, int[] W_shape, Tensor scales, Tensor? zero_points, Tensor? B, "
     "Tensor? g_idx, int group_size, int lowp_mode) -> (Tensor, Tensor[], Tensor[]?, Tensor[]?, Tensor?)", _pack),
    ("woq_linear_unpack_weight(Tensor W, str W_dtype, int[] W_shape, int lowp_mode) -> Tensor", _unpack),
)
