"""Folds batch normalization into the convolution or linear layer before it, in eval mode.

Both layers stay where they are, with their parameters under the same names. The first computes with folded weights,
the second hands on what the first computed. Folded weights follow those of the layers. Layers compute as they did in
training mode, while gradients of their weights are wanted, and where either has hooks.
"""
import collections
import inspect
from typing import Any, Dict, List, Optional, Tuple

import torch
from torch import fx, nn

from . import _engine
from ._patched import patch, role, shadow_of

CONVOLUTIONS = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d, nn.Conv3d: nn.BatchNorm3d}
LINEARS = {nn.Linear: nn.BatchNorm1d}


def fold_batch_norm(model: nn.Module, kinds: Dict[type, type]) -> int:
    """Folds where a layer of `kinds` is read by its normalization alone. Returns how many; raises what tracing raises."""
    pairs = _pairs(model, kinds)
    for layer, norm in pairs:
        patch(layer, "folded")
        patch(norm, "folded away")
        layer.__dict__["_ipex_norm"] = norm
    return len(pairs)


def _pairs(model: nn.Module, kinds: Dict[type, type]) -> List[Tuple[nn.Module, nn.Module]]:
    """Pairs on all ways through the model's code that tracing sees: with optional arguments, and with their defaults."""
    if not any(type(module) in kinds.values() for module in model.modules()):
        return []
    shadow = shadow_of(model)  # tracing runs the model's code, which may count its calls
    defaults = {name: parameter.default for name, parameter in inspect.signature(shadow.forward).parameters.items()
                if parameter.default is not inspect.Parameter.empty}
    graphs = [fx.Tracer().trace(shadow)] + ([fx.Tracer().trace(shadow, defaults)] if defaults else [])
    modules = dict(model.named_modules(remove_duplicate=False))
    first, *others = [_pairs_of(graph, modules, kinds) for graph in graphs]
    return [pair for pair in first if all(pair in other for other in others)]


def _pairs_of(graph: fx.Graph, modules: Dict[str, nn.Module],
              kinds: Dict[type, type]) -> List[Tuple[nn.Module, nn.Module]]:
    calls = collections.Counter(id(modules[node.target]) for node in graph.nodes if node.op == "call_module")
    pairs = []
    for node in graph.nodes:
        before = node.args[0] if node.op == "call_module" and node.args else None
        if not isinstance(before, fx.Node) or before.op != "call_module" or len(before.users) != 1:
            continue
        layer, norm = modules[before.target], modules[node.target]
        fits = kinds.get(type(layer)) is type(norm) and norm.running_mean is not None
        if fits and calls[id(layer)] == calls[id(norm)] == 1:
            pairs.append((layer, norm))
    return pairs


def _sources(layer: nn.Module, norm: nn.Module) -> List[Tuple]:
    return [(owned, name, value) for owned in (layer._parameters, norm._parameters, norm._buffers)
            for name, value in owned.items()]


def _is_active(layer: nn.Module, norm: nn.Module) -> bool:
    """True if the two compute as one."""
    if layer.training or norm.training or norm.running_mean is None:
        return False
    if layer._forward_hooks or norm._forward_pre_hooks or norm._forward_hooks:
        return False
    return not torch.is_grad_enabled() or not any(
        parameter.requires_grad for module in (layer, norm) for parameter in module._parameters.values()
        if parameter is not None)


def _fold(layer: nn.Module, norm: nn.Module) -> Tuple[torch.Tensor, torch.Tensor]:
    """Weight and bias of a layer and its normalization as one, computed in double precision."""
    with torch.inference_mode(False), torch.no_grad():
        def double(tensor: Optional[torch.Tensor], otherwise: float) -> torch.Tensor:
            return torch.full_like(norm.running_mean, otherwise).double() if tensor is None else tensor.double()

        scale = double(norm.weight, 1) / (norm.running_var.double() + norm.eps).sqrt()
        bias = (double(layer.bias, 0) - norm.running_mean.double()) * scale + double(norm.bias, 0)
        weight = layer.weight.double() * scale.reshape(-1, *[1] * (layer.weight.dim() - 1))
        return weight.to(layer.weight.dtype), bias.to(layer.weight.dtype)


def _folded_weights(layer: nn.Module) -> Tuple[torch.Tensor, torch.Tensor]:
    folded = layer.__dict__.get("_ipex_folded")
    if folded is None or not folded[0].same():
        norm = layer._ipex_norm
        tracing = torch._C._get_tracing_state()
        torch._C._set_tracing_state(None)  # a trace takes folded weights as they are
        try:
            folded = (_engine.Watch(_sources(layer, norm), []), *_fold(layer, norm))
        finally:
            torch._C._set_tracing_state(tracing)
        layer.__dict__["_ipex_folded"] = folded
    return folded[1], folded[2]


@role("folded")
def _folded_members(base: type) -> Dict[str, Any]:
    def forward(self, input):
        if not _is_active(self, self._ipex_norm) or (base is nn.Linear and input.dim() != 2):
            return base.forward(self, input)
        weight, bias = _folded_weights(self)
        compute = nn.functional.linear if base is nn.Linear else self._conv_forward
        result = compute(input, weight, bias)
        result._ipex_folded = True  # the normalization sees whose work it is not to repeat
        return result

    return {"forward": forward, "_ipex_attributes": ("_ipex_folded", "_ipex_norm"),
            "_ipex_transient": ("_ipex_folded",)}


@role("folded away")
def _folded_away_members(base: type) -> Dict[str, Any]:
    def forward(self, input):
        if getattr(input, "_ipex_folded", False):
            del input._ipex_folded
            return input
        return base.forward(self, input)

    return {"forward": forward}
