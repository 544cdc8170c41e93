"""PyTorch Geometric where it is installed; else as much of its interface as layers of graphs need.

Importing this makes `torch_geometric` importable. GCNConv, SAGEConv, GATConv, EdgeConv: its layers, or like them.
"""
import importlib.util
import sys
import types
from collections import OrderedDict

import torch
from torch import nn

INSTALLED = importlib.util.find_spec("torch_geometric") is not None


class _Sum(nn.Module):
    divides = False

    def forward(self, x, index, ptr=None, dim_size=None, dim=-2):
        sums = x.new_zeros(dim_size, *x.shape[1:]).index_add_(0, index, x)
        if not self.divides:
            return sums
        counts = x.new_zeros(dim_size).index_add_(0, index, x.new_ones(len(index))).clamp(min=1)
        return sums / counts.view([-1] + [1] * (x.dim() - 1))


class _Mean(_Sum):
    divides = True


class _Max(nn.Module):
    def forward(self, x, index, ptr=None, dim_size=None, dim=-2):
        places = index.view(-1, 1).expand_as(x)
        return x.new_zeros(dim_size, x.shape[1]).scatter_reduce(0, places, x, "amax", include_self=False)


def _softmax(src, index=None, ptr=None, num_nodes=None, dim=0):
    places = index.view([-1] + [1] * (src.dim() - 1)).expand_as(src)
    largest = src.new_zeros(num_nodes, *src.shape[1:]).scatter_reduce(0, places, src.detach(), "amax",
                                                                      include_self=False)
    e = (src - largest[index]).exp()
    return e / (src.new_zeros(num_nodes, *src.shape[1:]).index_add(0, index, e) + 1e-16)[index]


class MessagePassing(nn.Module):
    """message(), aggregate() and update() for all edges; subclasses say what a message is."""

    def __init__(self, aggr="add", flow="source_to_target", node_dim=-2):
        super().__init__()
        self.aggr_module = {"add": _Sum, "mean": _Mean, "max": _Max}[aggr]()
        self.flow, self.node_dim = flow, node_dim
        self._message_forward_hooks = OrderedDict()

    def register_message_forward_hook(self, hook):
        self._message_forward_hooks[len(self._message_forward_hooks)] = hook

    def _index_select(self, src, index):
        return src.index_select(self.node_dim, index)

    def _collect(self, method, edge_index, size, given):
        ends = edge_index.flip(0) if self.flow != "source_to_target" else edge_index
        sizes = list(size) if size is not None else [None, None]
        arguments = {}
        for name in method.__code__.co_varnames[1:method.__code__.co_argcount]:
            end = {"_j": 0, "_i": 1}.get(name[-2:])
            value = given.get(name if end is None else name[:-2])
            if end is not None and value is not None:
                value = value[end] if isinstance(value, tuple) else value
                if value is not None:
                    sizes[end] = value.shape[self.node_dim]
                    value = self._index_select(value, ends[end])
            arguments[name] = value
        rows = sizes[1] if sizes[1] is not None else sizes[0]
        arguments.update({name: known for name, known in (("index", ends[1]), ("ptr", None), ("dim_size", rows))
                          if name in arguments})
        return arguments, ends[1], rows

    def propagate(self, edge_index, size=None, **given):
        arguments, index, rows = self._collect(self.message, edge_index, size, given)
        messages = self.message(**arguments)
        for hook in self._message_forward_hooks.values():
            hook(self, arguments, messages)
        pair = given.get("x")
        rows = pair[1].shape[self.node_dim] if isinstance(pair, tuple) and pair[1] is not None else rows
        return self.update(self.aggregate(messages, index, ptr=None, dim_size=rows))

    def edge_updater(self, edge_index, size=None, **given):
        return self.edge_update(**self._collect(self.edge_update, edge_index, size, given)[0])

    def aggregate(self, inputs, index, ptr=None, dim_size=None):
        return self.aggr_module(inputs, index, ptr=ptr, dim_size=dim_size, dim=self.node_dim)

    def update(self, inputs):
        return inputs


def _module(name, **members):
    sys.modules[name] = module = types.ModuleType(name)
    for key, value in members.items():
        setattr(module, key, value)
        if isinstance(value, type):
            value.__module__, value.__name__, value.__qualname__ = name, key, key
    return module


if not INSTALLED:
    _module("torch_geometric.utils", softmax=_softmax)
    _module("torch_geometric.nn.aggr.basic", SumAggregation=_Sum, MeanAggregation=_Mean, MaxAggregation=_Max)
    _module("torch_geometric", utils=sys.modules["torch_geometric.utils"],
            nn=_module("torch_geometric.nn", MessagePassing=MessagePassing))

from torch_geometric.nn import MessagePassing  # noqa: E402,F811
from torch_geometric.utils import softmax  # noqa: E402


class Weighted(MessagePassing):
    """Neighbours' features times a number for each edge, if there is one."""

    def __init__(self, inputs, outputs, **how):
        super().__init__(**how)
        self.lin = nn.Linear(inputs, outputs)

    def forward(self, x, edge_index, edge_weight=None):
        return self.propagate(edge_index, x=self.lin(x), edge_weight=edge_weight, size=None)

    def message(self, x_j, edge_weight):
        return x_j if edge_weight is None else edge_weight.view(-1, 1) * x_j


class Neighbors(MessagePassing):
    """Neighbours' features, beside those of the node itself; from nodes of one kind to those of another."""

    def __init__(self, inputs, outputs, **how):
        super().__init__(**how)
        self.lin = nn.Linear(inputs, outputs)

    def forward(self, x, edge_index, size=None):
        x = x if isinstance(x, tuple) else (x, x)
        return self.lin(self.propagate(edge_index, x=x, size=size))

    def message(self, x_j):
        """The neighbour's features."""
        return x_j


class Attention(MessagePassing):
    """Neighbours' features by the softmax of scores over the edges of a node, for several heads."""

    def __init__(self, inputs, heads, width, **how):
        super().__init__(aggr="add", node_dim=0, **how)
        self.heads, self.width = heads, width
        self.lin = nn.Linear(inputs, heads * width)
        self.source, self.target = (nn.Parameter(torch.randn(1, heads, width)) for _ in range(2))

    def forward(self, x, edge_index):
        x = self.lin(x).view(-1, self.heads, self.width)
        alpha = ((x * self.source).sum(-1), (x * self.target).sum(-1))
        alpha = self.edge_updater(edge_index, alpha=alpha, size=None)
        return self.propagate(edge_index, x=(x, x), alpha=alpha, size=None)

    def edge_update(self, alpha_j, alpha_i, index, ptr, dim_size):
        alpha = torch.nn.functional.leaky_relu(alpha_j + alpha_i, 0.2)
        return softmax(alpha, index, ptr, dim_size)

    def message(self, x_j, alpha):
        return alpha.unsqueeze(-1) * x_j


class Differences(MessagePassing):
    """Messages that are no product: they are made, and then summed."""

    def __init__(self, inputs, outputs, **how):
        super().__init__(**how)
        self.lin = nn.Linear(inputs, outputs)

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=(x, x), size=None)

    def message(self, x_i, x_j):
        return torch.relu(self.lin(x_j - x_i))
