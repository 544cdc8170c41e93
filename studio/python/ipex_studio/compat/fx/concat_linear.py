"""intel_extension_for_pytorch.fx.concat_linear: linear layers that read the same value become one, cut afterwards."""
import copy
import operator
from typing import Dict, List, Tuple

import torch
from torch import fx, nn

from ..._patched import stock_class

__all__ = ["concat_linear"]
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def concat_linear(model: fx.GraphModule, inplace: bool = False) -> fx.GraphModule:
    """The module, or a copy, in which linear layers that read the same value are one layer, whose result is cut."""
    model = model if inplace else copy.deepcopy(model)
    for number, nodes in enumerate(_groups(model)):
        _join(model, nodes, f"concat_linear_{number}")
    model.graph.lint()
    model.recompile()
    return model


def _groups(model: fx.GraphModule) -> List[List[fx.Node]]:
    """Calls of linear layers that read the same value; layers of one are alike in inputs, dtype and bias."""
    calls: Dict[str, int] = {}
    for node in model.graph.nodes:
        target = node.target.rpartition(".")[0] if node.op == "get_attr" else node.target  # reads a layer's weight itself
        if node.op in ("call_module", "get_attr"):
            calls[target] = calls.get(target, 0) + 1
    found: Dict[Tuple, List[fx.Node]] = {}
    for node in model.graph.nodes:
        if node.op != "call_module" or len(node.args) != 1 or node.kwargs or calls[node.target] > 1:
            continue
        layer = model.get_submodule(node.target)
        if stock_class(layer) is nn.Linear and not any(layer.__dict__[hooks] for hooks in _HOOKS):
            like = (node.args[0], layer.in_features, layer.weight.dtype, layer.bias is None)
            found.setdefault(like, []).append(node)
    return [nodes for nodes in found.values() if len(nodes) > 1]


def _join(model: fx.GraphModule, nodes: List[fx.Node], name: str) -> None:
    layers = [model.get_submodule(node.target) for node in nodes]
    widths = [layer.out_features for layer in layers]
    first = layers[0]
    joined = nn.Linear(first.in_features, sum(widths), first.bias is not None, dtype=first.weight.dtype)
    with torch.no_grad():
        joined.weight.copy_(torch.cat([layer.weight for layer in layers]))
        if first.bias is not None:
            joined.bias.copy_(torch.cat([layer.bias for layer in layers]))
    model.add_submodule(name, joined.train(first.training))
    with model.graph.inserting_before(nodes[0]):
        whole = model.graph.call_module(name, nodes[0].args)
        parts = model.graph.call_function(torch.split, (whole, widths, -1))
        for place, node in enumerate(nodes):
            node.replace_all_uses_with(model.graph.call_function(operator.getitem, (parts, place)))
    for node in nodes:
        model.graph.erase_node(node)
        model.delete_submodule(node.target)
