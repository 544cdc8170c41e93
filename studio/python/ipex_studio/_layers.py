"""Layers of training by kernels of ours. Parameters stay as they are, in channels-last order."""
import collections
from typing import Any, Callable, Dict, Optional, Tuple

import torch
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from . import _engine  # noqa: F401 - brings the operators
from ._libraries import brought
from ._patched import drop_role, patch, role
from ._versions import autocast_dtype, autocast_is_on

_ROLE = "trained"


def _may_compute(input: Any, *numbers: Any) -> bool:
    """True if kernels may compute this call: values in FP32, or in BF16 under autocast, and parameters in FP32; not
    for a trace."""
    if type(input) not in (torch.Tensor, nn.Parameter) or torch.jit.is_tracing():
        return False
    low = autocast_is_on()
    if low and autocast_dtype() != torch.bfloat16:
        return False
    fits = input.dtype == torch.float32 or (low and input.dtype == torch.bfloat16)
    return fits and all(number is None or number.dtype == torch.float32 for number in numbers)


def _convolution(axes: int) -> Callable:
    def methods(base: type) -> Callable:
        def forward(self, input):
            zeros = self.padding_mode == "zeros" and not isinstance(self.padding, str)
            if not (zeros and _may_compute(input, self.weight) and input.dim() == axes + 2):
                return base.forward(self, input)
            operator = getattr(torch.ops.ipex_studio, f"conv{axes}d")
            return operator(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

        return forward

    return methods


def _transposed(base: type) -> Callable:
    def forward(self, input, output_size=None):
        fits = _may_compute(input, self.weight) and input.dim() == 4
        if output_size is not None or self.padding_mode != "zeros" or not fits:
            return base.forward(self, input, output_size)
        return torch.ops.ipex_studio.conv_transpose2d(input, self.weight, self.bias, self.stride, self.padding,
                                                      self.output_padding, self.groups, self.dilation)

    return forward


def _is_for_norm(layer: nn.BatchNorm2d, input: torch.Tensor) -> bool:
    """True if the image has channels last, and more than one value in each."""
    fits = input.dim() == 4 and input.numel() > input.shape[1] == layer.num_features
    return fits and input.is_contiguous(memory_format=torch.channels_last)


def _batch_norm(base: type) -> Callable:
    def forward(self, input):
        numbers = (self.weight, self.bias, self.running_mean, self.running_var)
        if not (self.training and _may_compute(input, *numbers) and _is_for_norm(self, input)):
            return base.forward(self, input)
        running, factor = (None, None), self.momentum or 0.0
        if self.track_running_stats:
            running = numbers[2:]
            if self.num_batches_tracked is not None:
                self.num_batches_tracked.add_(1)
                factor = 1.0 / float(self.num_batches_tracked) if self.momentum is None else factor
        return torch.ops.ipex_studio.batch_norm2d(input, self.weight, self.bias, *running, True, factor, self.eps)

    return forward


def _linear(base: type) -> Callable:
    def forward(self, input):
        if not _may_compute(input, self.weight, self.bias):
            return base.forward(self, input)
        return torch.ops.ipex_studio.train_linear(input, self.weight, self.bias)

    return forward


def _states(layer: nn.RNNBase, given: Any, input: torch.Tensor, batch: int) -> Tuple[torch.Tensor, ...]:
    """States before the first step, of a batch: those given, or zeros."""
    if given is not None:
        return (given,) if isinstance(given, torch.Tensor) else tuple(given)
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    widths = (layer.proj_size or layer.hidden_size,) + ((layer.hidden_size,) if layer.mode == "LSTM" else ())
    return tuple(input.new_zeros(count, batch, width) for width in widths)


def _recurrent(operator: str) -> Callable:
    def methods(base: type) -> Callable:
        def forward(self, input, hx=None):
            packed = isinstance(input, PackedSequence)
            data = input.data if packed else input
            fits = _may_compute(data, *self._flat_weights) and data.dim() == (2 if packed else 3)
            if not fits or autocast_is_on():
                return base.forward(self, input, hx)
            batch = int(input.batch_sizes[0]) if packed else data.shape[0 if self.batch_first else 1]
            if hx is None:
                self.check_input(data, input.batch_sizes if packed else None)
            else:
                self.check_forward_args(data, hx, input.batch_sizes if packed else None)
                hx = self.permute_hidden(hx, input.sorted_indices if packed else None)
            states = _states(self, hx, data, batch)
            settings = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
            compute = getattr(torch.ops.ipex_studio, operator)
            given = list(states) if len(states) == 2 else states[0]
            if packed:
                y, *last = compute(data, input.batch_sizes, given, *settings)
                y = PackedSequence(y, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
            else:
                y, *last = compute(data, given, *settings, self.batch_first)
            last = tuple(last) if len(last) == 2 else last[0]
            return y, self.permute_hidden(last, input.unsorted_indices if packed else None)

        return forward

    return methods


_FORWARDS: Dict[type, Callable] = {nn.Conv1d: _convolution(1), nn.Conv2d: _convolution(2),
                                   nn.Conv3d: _convolution(3), nn.ConvTranspose2d: _transposed,
                                   nn.BatchNorm2d: _batch_norm, nn.Linear: _linear,
                                   nn.LSTM: _recurrent("train_lstm"), nn.GRU: _recurrent("train_gru")}


def _forward_of(kind: type) -> Optional[Callable]:
    """What makes forward() of a class of layers; None for others. PyTorch Geometric has a linear layer of its own."""
    return _linear if kind is brought("torch_geometric.nn.dense.linear.Linear") else _FORWARDS.get(kind)


@role(_ROLE)
def _trained_members(base: type) -> Dict[str, Any]:
    return {"forward": _forward_of(base)(base)}


def _holds_weights(module: nn.Module) -> bool:
    """True if weights are parameters of the module itself, and not computed from others."""
    if isinstance(module, nn.RNNBase):
        return all(name in module._parameters for name in module._flat_weights_names)
    return "weight" in module._parameters


def train_by_kernels(model: nn.Module) -> Dict[str, int]:
    """Lets layers compute themselves and their gradients by kernels of ours, and returns how many of each class do.
    Those that share a parameter, are of a class of their own or are parametrized stay as they are."""
    readers = collections.Counter(id(parameter) for module in model.modules()
                                  for parameter in module._parameters.values() if parameter is not None)
    counts: Dict[str, int] = {}
    for module in model.modules():
        plain = _forward_of(type(module)) is not None and "forward" not in module.__dict__ and _holds_weights(module)
        if plain and all(readers[id(parameter)] == 1 for parameter in module._parameters.values()
                         if parameter is not None):
            counts[type(module).__name__] = counts.get(type(module).__name__, 0) + 1
            patch(module, _ROLE)
    return counts


def train_by_torch(model: nn.Module) -> None:
    """Undoes train_by_kernels()."""
    drop_role(model, _ROLE)
