"""Steps of single parameters, by the names and with the arguments of the operators of Intel Extension for PyTorch.

The parameter and its states change in place, gradients never do. `other` is empty if an FP32 parameter stands alone, a
BF16 or FP16 copy of it that takes the new numbers, or the lower halves of a BF16 parameter.
"""
from typing import List, Optional

import torch
from torch import Tensor

from . import _engine  # noqa: F401 - loads the operators

_NO_TENSOR = torch.empty(0)


def _step(optimizer: str, settings: List[float], parameter: Tensor, gradient: Tensor, states: List[Tensor],
          other: Tensor, step: int) -> None:
    own, companion = parameter, other
    if parameter.dtype == torch.float32 and other.numel():
        own, companion = other, parameter
    torch.ops.ipex_studio.optimizer_step(optimizer, [float(value) for value in settings], [own], [gradient], states,
                                         [companion], step)


def _momentum_step(optimizer: str, settings: List[float], parameter: Tensor, gradient: Tensor,
                   buffer: Optional[Tensor], other: Tensor, momentum: float) -> Optional[Tensor]:
    if not momentum:
        _step(optimizer, settings, parameter, gradient, [], other, 1)
        return buffer
    first = buffer is None
    if first:
        buffer = torch.zeros_like(parameter, dtype=torch.float32)
    _step(optimizer, settings, parameter, gradient, [buffer], other, 1 if first else 2)
    return buffer


def sgd_fused_step(parameter, gradient, buffer, other, momentum, lr, weight_decay, dampening, nesterov):
    """Returns the momentum buffer, which is made if it is None and there is momentum."""
    return _momentum_step("sgd", [lr, momentum, dampening, nesterov, weight_decay, False], parameter, gradient, buffer,
                          other, momentum)


def lars_fused_step(parameter, gradient, buffer, other, momentum, lr, eeta, eps, weight_decay, dampening, nesterov):
    """Returns the momentum buffer, as sgd_fused_step."""
    if dampening or nesterov:
        raise ValueError("lars_fused_step has neither dampening nor Nesterov momentum.")
    return _momentum_step("lars", [lr, momentum, eeta, weight_decay, eps, True, False], parameter, gradient, buffer,
                          other, momentum)


def adam_fused_step(parameter, exp_avg, exp_avg_sq, max_exp_avg_sq, gradient, other, amsgrad, step, beta1, beta2, lr,
                    weight_decay, eps):
    states = [exp_avg, exp_avg_sq] + ([max_exp_avg_sq] if amsgrad else [])
    _step("adam", [lr, beta1, beta2, eps, weight_decay, amsgrad, False], parameter, gradient, states, other, int(step))


def adagrad_fused_step(parameter, gradient, state_sum, other, step, lr, weight_decay, lr_decay, eps):
    _step("adagrad", [lr, lr_decay, weight_decay, eps, False], parameter, gradient, [state_sum], other, int(step))


def lamb_fused_step(parameter, exp_avg, exp_avg_sq, gradient, other, step, beta1, beta2, lr, weight_decay, eps):
    _step("lamb", [lr, beta1, beta2, eps, weight_decay, True, True, True, True, False], parameter, gradient,
          [exp_avg, exp_avg_sq], other, int(step))


def _in_order_of(other: Tensor, values: Tensor) -> Tensor:
    """The values with the strides of another tensor."""
    if other.stride() == values.stride() or 0 in other.stride():
        return values
    return torch.empty_strided(other.shape, other.stride(), dtype=values.dtype).copy_(values)


def split_float_bfloat16(tensor: Tensor):
    """The upper and the lower 16 bits of FP32 numbers, both as BF16 tensors in its order; the upper ones are the numbers
    cut off."""
    words = tensor.contiguous().flatten().view(torch.int16).view(*tensor.shape, 2)  # lower halves come first
    lower, upper = words.unbind(-1)
    upper, lower = upper.contiguous().view(torch.bfloat16), lower.contiguous().view(torch.bfloat16)
    return _in_order_of(tensor, upper), _in_order_of(tensor, lower)


def cat_bfloat16_float(upper: Tensor, lower: Tensor) -> Tensor:
    """The FP32 numbers of these halves, in the order of the upper ones."""
    halves = torch.stack([lower.contiguous().view(torch.int16), upper.contiguous().view(torch.int16)], -1)
    return _in_order_of(upper, halves.view(torch.float32).squeeze(-1))


def packed_add(upper: Tensor, lower: Tensor, gradient: Tensor, alpha: float) -> None:
    """Adds alpha · gradient to numbers whose halves these are; of a sparse gradient, rows that come twice are summed
    up first in FP32."""
    if not gradient.is_sparse:
        _step("sgd", [-alpha, 0, 0, 0, 0, 0], upper, gradient, [], lower, 1)
        return
    summed = gradient.float().coalesce()
    rows = summed.indices()[0]
    tops, bottoms = upper[rows], lower[rows]
    _step("sgd", [-alpha, 0, 0, 0, 0, 0], tops, summed.values(), [], bottoms, 1)
    upper[rows], lower[rows] = tops, bottoms


def sync_master_weight_to_bf16(master: Tensor, parameter: Tensor) -> None:
    parameter.copy_(master)


def sync_master_weight_to_fp16(master: Tensor, parameter: Tensor) -> None:
    parameter.copy_(master)
