"""Layers of PyTorch Geometric by sparse products: messages are summed where they arrive, and never stored.

What a layer computes is read from its own code: a layer whose messages are the neighbours' features, or these times one
number for each edge (and head), sums them by ipex_studio::spmm; others sum the messages they made by
ipex_studio::scatter_rows, and pick rows by ipex_studio::gather_rows, whose gradient is such a sum. Edges come in any
order and may change from call to call: they are sorted anew in each.
"""
import ast
import functools
import inspect
import textwrap
import threading
import types
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import torch

from . import _engine  # noqa: F401 - brings the operators
from ._libraries import brought
from ._patched import drop_role, patch, role
from ._versions import autocast_is_on, is_traced
from .nn.graph import CSRGraph

_ROLE = "messages"
_FLOATS = (torch.float32, torch.float64)
_local = threading.local()  # kept: the _Sorted edges of a layer between its edge_updater() and its propagate()


class _Form(NamedTuple):
    """What message() gives: the features of the neighbour, times the number of the edge if there is one."""
    features: str  # the argument of propagate()
    number: Optional[str] = None
    may_be_none: bool = False
    by_heads: bool = False  # the number has all axes of the features but the last


def _name(node: ast.AST) -> Optional[str]:
    return node.id if isinstance(node, ast.Name) else None


def _column(node: ast.AST) -> Optional[_Form]:
    """The number in `number.view(-1, 1)` or `number.unsqueeze(-1)`."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _name(node.func.value)):
        return None
    if node.keywords:
        return None
    arguments = [ast.unparse(argument) for argument in node.args]
    if node.func.attr in ("view", "reshape") and arguments == ["-1", "1"]:
        return _Form("", node.func.value.id)
    if node.func.attr == "unsqueeze" and arguments == ["-1"]:
        return _Form("", node.func.value.id, by_heads=True)
    return None


def _product(node: ast.AST) -> Optional[_Form]:
    """The form of `x_j` or of `number * x_j`, where `features` is the name of x_j."""
    if _name(node):
        return _Form(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for number, features in ((node.left, node.right), (node.right, node.left)):
            column = _column(number)
            if column and _name(features):
                return column._replace(features=features.id)
    return None


def _choice(node: ast.AST) -> Optional[_Form]:
    """The form of a product, or of `x_j if number is None else number * x_j`."""
    if not isinstance(node, ast.IfExp):
        return _product(node)
    form = _product(node.orelse)
    fits = form and form.number and _name(node.body) == form.features
    return form._replace(may_be_none=True) if fits and ast.unparse(node.test) == f"{form.number} is None" else None


@functools.lru_cache(maxsize=None)
def _form_of(message: Callable) -> Optional[_Form]:
    """What a method message() computes, if that is known from its source."""
    try:
        function = ast.parse(textwrap.dedent(inspect.getsource(message))).body[0]
        parameters = list(inspect.signature(message).parameters)[1:]
    except (OSError, TypeError, SyntaxError, ValueError, IndexError):
        return None
    body: List[ast.stmt] = getattr(function, "body", [])
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return None
    form = _choice(body[0].value)
    used = {form.features, form.number} - {None} if form else set()
    if not form or set(parameters) != used or not form.features.endswith("_j"):
        return None
    if form.number and form.number.endswith(("_i", "_j")):
        return None
    return form._replace(features=form.features[:-2])


def _reduction(layer: Any) -> Optional[str]:
    """"sum" or "mean" if the layer sums its messages so. The gradient of an extreme goes to the first of equal messages
    here, and to all of them in parts there: extremes stay."""
    kinds = {"SumAggregation": "sum", "MeanAggregation": "mean"}
    kind = type(layer.aggr_module)
    return kinds.get(kind.__name__) if kind.__module__ == "torch_geometric.nn.aggr.basic" else None


_HOOKS = tuple(f"_{step}_forward_{when}" for when in ("pre_hooks", "hooks")
               for step in ("propagate", "message", "aggregate", "message_and_aggregate", "edge_update"))


def _is_watched(layer: Any) -> bool:
    """True if messages themselves are asked for, by a hook or an explanation."""
    members = layer.__dict__
    return any(map(members.get, _HOOKS)) or bool(members.get("_explain")) or members.get("_decomposed_layers", 1) != 1


def _is_index(index: Any, axes: int) -> bool:
    return type(index) is torch.Tensor and index.dim() == axes and index.dtype in (torch.int64, torch.int32) \
        and index.layout == torch.strided and index.device.type == "cpu"


def _are_rows(layer: Any, values: Any) -> bool:
    """True if the first axis of values is that of nodes or edges, and kernels may compute with them."""
    return type(values) in (torch.Tensor, torch.nn.Parameter) and values.dtype in _FLOATS and \
        values.layout == torch.strided and values.dim() >= 2 and layer.node_dim in (0, -values.dim())


def _may_compute() -> bool:
    return not (is_traced() or autocast_is_on())


class _Call(NamedTuple):
    """A call of propagate() that is one sparse product."""
    features: torch.Tensor
    number: Optional[torch.Tensor]
    columns: int
    rows: int


def _call(layer: Any, form: _Form, size: Any, given: Dict[str, Any]) -> Optional[_Call]:
    """The sparse product of a call; None: another computation, or one that is refused there."""
    if set(given) != {form.features, form.number} - {None}:
        return None
    pair, number = given[form.features], given.get(form.number)
    features, own = pair if isinstance(pair, (tuple, list)) and len(pair) == 2 else (pair, None)
    if not _are_rows(layer, features) or (own is not None and not isinstance(own, torch.Tensor)):
        return None
    if form.number and number is None and not form.may_be_none:
        return None
    if number is not None:
        axes = features.dim() - 1 if form.by_heads else 1
        fits = isinstance(number, torch.Tensor) and number.dtype == features.dtype and number.dim() == axes <= 2
        if not fits or (not form.by_heads and features.dim() != 2):
            return None
        if axes == 2 and number.shape[1] != features.shape[1]:
            return None
    columns, rows = size if size is not None else (None, None)
    own_rows = own.size(layer.node_dim) if own is not None else None
    if columns not in (None, len(features)) or (own_rows is not None and rows not in (None, own_rows)):
        return None
    rows = rows if rows is not None else own_rows if own_rows is not None else len(features)
    return _Call(features, number, len(features), rows)


class _Sorted(NamedTuple):
    """Edges that edge_updater() of a layer sorted."""
    edge_index: torch.Tensor
    version: int
    graph: CSRGraph

    def is_for(self, edge_index: torch.Tensor, columns: int, rows: int) -> bool:
        return self.edge_index is edge_index and self.version == edge_index._version and \
            self.graph.columns == columns and self.graph.rows == rows


def _propagate(base: type, form: _Form) -> Callable:
    def propagate(self, edge_index, *arguments, size=None, **given):
        kept, _local.kept = getattr(_local, "kept", None), None
        fits = not arguments and _is_index(edge_index, 2) and len(edge_index) == 2 and _may_compute() and \
            self.flow == "source_to_target" and not _is_watched(self)
        reduce = _reduction(self)
        call = _call(self, form, size, given) if fits and reduce else None
        if call is None or (call.number is not None and len(call.number) != edge_index.shape[1]):
            return base.propagate(self, edge_index, *arguments, size=size, **given)
        if kept is None or not kept.is_for(edge_index, call.columns, call.rows):
            return torch.ops.ipex_studio.spmm_edges(edge_index, call.number, call.features, call.rows, reduce)
        graph = kept.graph
        return torch.ops.ipex_studio.spmm(graph.rowptr, graph.col, graph.place, call.number, call.features, reduce, [])

    propagate.__module__ = base.propagate.__module__  # by which the base knows that it made its own
    return propagate


def _aggregate(base: type) -> Callable:
    def aggregate(self, inputs, index, ptr=None, dim_size=None):
        reduce = _reduction(self)
        if not (reduce and ptr is None and dim_size is not None and _is_index(index, 1) and _may_compute() and
                _are_rows(self, inputs) and len(inputs) == len(index)):
            return base.aggregate(self, inputs, index, ptr, dim_size)
        return torch.ops.ipex_studio.scatter_rows(inputs, index, dim_size, reduce)

    return aggregate


def _index_select(base: type) -> Callable:
    def _index_select(self, src, index):
        # Without a gradient torch's own does the same.
        needs_gradient = isinstance(src, torch.Tensor) and src.requires_grad and torch.is_grad_enabled()
        if not (needs_gradient and _is_index(index, 1) and _may_compute() and _are_rows(self, src)):
            return base._index_select(self, src, index)
        return torch.ops.ipex_studio.gather_rows(src, index)

    return _index_select


def _edge_updater(base: type) -> Callable:
    def edge_updater(self, edge_index, *arguments, size=None, **given):
        _local.kept = None
        alpha = given.get("alpha")
        ends = alpha if isinstance(alpha, (tuple, list)) and len(alpha) == 2 else (None, None)
        fits = _is_index(edge_index, 2) and len(edge_index) == 2 and _may_compute() and size is None and \
            self.flow == "source_to_target" and all(type(end) is torch.Tensor for end in ends)
        if fits and edge_index.shape[1]:
            graph = CSRGraph.from_edge_index(edge_index, (len(ends[0]), len(ends[1])))
            _local.kept = _Sorted(edge_index, edge_index._version, graph)
        return base.edge_updater(self, edge_index, *arguments, size=size, **given)

    edge_updater.__module__ = base.edge_updater.__module__
    return edge_updater


def _softmax(src, index=None, ptr=None, num_nodes=None, dim=0):
    """torch_geometric.utils.softmax for the code of a layer."""
    stock = brought("torch_geometric.utils.softmax")
    kept = getattr(_local, "kept", None)
    fits = ptr is None and num_nodes is not None and dim == 0 and _is_index(index, 1) and _may_compute() and \
        type(src) is torch.Tensor and src.dtype in _FLOATS and src.dim() in (1, 2) and len(src) == len(index)
    if not fits:
        return stock(src, index, ptr, num_nodes, dim)
    if kept is not None and kept.graph.rows == num_nodes and kept.graph.edges == len(index) and \
            kept.edge_index[1].data_ptr() == index.data_ptr():
        return torch.ops.ipex_studio.segment_softmax(kept.graph.rowptr, kept.graph.place, src)
    rowptr, place = torch.ops.ipex_studio.csr_from_index(index, num_nodes)
    return torch.ops.ipex_studio.segment_softmax(rowptr, place, src)


def _with_our_softmax(method: Any) -> Optional[Callable]:
    """A method of a layer that calls torch_geometric.utils.softmax, with ours in its place; None for others."""
    stock = brought("torch_geometric.utils.softmax")
    if not isinstance(method, types.FunctionType) or stock is None or "softmax" not in method.__code__.co_names or \
            method.__globals__.get("softmax") is not stock:
        return None
    changed = types.FunctionType(method.__code__, {**method.__globals__, "softmax": _softmax}, method.__name__,
                                 method.__defaults__, method.__closure__)
    changed.__kwdefaults__, changed.__module__ = method.__kwdefaults__, method.__module__
    return changed


@role(_ROLE)
def _message_members(base: type) -> Dict[str, Any]:
    stock = brought("torch_geometric.nn.MessagePassing")
    members: Dict[str, Any] = {}
    form = _form_of(base.message)
    if base.aggregate is stock.aggregate:
        members["aggregate"] = _aggregate(base)
        made = f"{base.__module__}_{base.__name__}"  # torch_geometric's own propagate() for this class
        stock_steps = base.propagate is stock.propagate or base.propagate.__module__.startswith(made)
        if form and base.update is stock.update and stock_steps:
            members["propagate"] = _propagate(base, form)
    if getattr(base, "_index_select", None) is getattr(stock, "_index_select", 0):
        members["_index_select"] = _index_select(base)
    for name in ("edge_update", "message"):
        changed = _with_our_softmax(getattr(base, name, None))
        if changed is not None:
            members[name] = changed
            if name == "edge_update" and "propagate" in members:
                members["edge_updater"] = _edge_updater(base)
    return members


def pass_messages_by_kernels(model: torch.nn.Module) -> Dict[str, int]:
    """Lets layers of PyTorch Geometric sum their messages by kernels of ours, and returns how many of each class do."""
    stock = brought("torch_geometric.nn.MessagePassing")
    counts: Dict[str, int] = {}
    for module in model.modules() if stock is not None else ():
        if isinstance(module, stock) and "_ipex_role" not in type(module).__dict__:
            counts[type(module).__name__] = counts.get(type(module).__name__, 0) + 1
            patch(module, _ROLE)
    return counts


def pass_messages_by_torch(model: torch.nn.Module) -> None:
    """Undoes pass_messages_by_kernels()."""
    drop_role(model, _ROLE)
