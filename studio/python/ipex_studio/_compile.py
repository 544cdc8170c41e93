"""The backend "ipex_studio" of torch.compile: graphs of inference run by plans, all else as torch runs it.

Weights and numbers reach a graph as arguments. They become a module's own, so that plans know them, and sizes that vary
are read from the tensors that have them, so that one plan serves all.
"""
import functools
import math
import operator
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Set, Tuple

import torch
from torch import fx, nn

from . import _engine
from ._log import logger
from ._plans import give_plans
from .errors import Error

NAMES = ("ipex_studio", "ipex")
LITTLE_WORK = 16_384  # elements and products of a graph below which a plan's call costs more than it saves
MOST_SIGNATURES = 64  # of calls that go around torch.compile, of one compiled function
MOST_MODULES = 8  # sets of weights and numbers with plans of their own, where one graph serves several modules


class _CannotCompile(Exception):
    """Why a graph runs as it is, as a clause."""


def backend(graph_module: fx.GraphModule, example_inputs: Sequence[Any], mode: Optional[str] = None,
            options: Optional[Dict[str, Any]] = None) -> Callable:
    """Compiles a graph of torch.compile(backend="ipex_studio"); mode="max-autotune" measures kernels first."""
    _Work.seen += 1
    if options:
        raise Error(f"The backend ipex_studio has no options ({', '.join(options)} given).", 2)
    try:
        if _work_of(graph_module) < LITTLE_WORK:
            raise _CannotCompile("it computes too little")
        return _Compiled(graph_module, "quick" if (mode or "").startswith("max-autotune") else "off")
    except _CannotCompile as reason:
        logger.info("A compiled graph runs without a plan: %s.", reason)
        return graph_module.forward


def _work_of(graph_module: fx.GraphModule) -> float:
    """Elements that a graph makes, and products that it sums for them, or more; infinity where that is not known."""
    work = 0.0
    for node in graph_module.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        value = node.meta.get("example_value")
        if node.op not in ("call_function", "call_method") or not isinstance(value, torch.Tensor):
            return math.inf
        operands = [operand.meta.get("example_value") for operand in node.all_input_nodes]
        sizes = [tuple(operand.shape) for operand in operands if isinstance(operand, torch.Tensor) and operand.dim() > 1]
        if not all(type(size) is int for size in (*value.shape, *(size for shape in sizes for size in shape))):
            return math.inf
        # An element of a product sums over a row of the weight, or of one of two matrices.
        depth = max(min(math.prod(shape[1:]) for shape in sizes), *(shape[-1] for shape in sizes)) if len(sizes) > 1 else 1
        work += value.numel() * depth
    return work


class CompiledGraph(nn.Module):
    """A graph whose weights and numbers are the module's own; its arguments are the graph's others."""

    def __init__(self, graph: fx.GraphModule, names: List[str], own: Iterable[Any]) -> None:
        super().__init__()
        self.graph = graph
        self.names = names  # of the attribute for each argument of the graph; "" for those that calls give
        for name, value in zip(filter(None, names), own):
            if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter):
                self.register_buffer(name, value)
            else:
                setattr(self, name, value)
        self.training = False

    def forward(self, *arguments):
        others = iter(arguments)
        return self.graph(*[getattr(self, name) if name else next(others) for name in self.names])


class _Compiled:
    """What torch.compile calls instead of a graph."""

    def __init__(self, stock: fx.GraphModule, tune: str) -> None:
        if any(module.training for module in stock.modules() if not isinstance(module, fx.GraphModule)):
            raise _CannotCompile("it has layers in training mode")
        self._stock = stock.forward
        self._tune = tune
        self._inputs = _Inputs(stock)
        self._graph, self._results = _of_tensors_alone(stock, self._inputs)
        self._modules: Dict[Tuple, CompiledGraph] = {}
        self._last: Optional[CompiledGraph] = None
        self._last_key: Tuple = ()
        self._race: Optional[_Race] = _Race()  # None once it is over

    def __call__(self, *arguments):
        if self._race is None:
            return self._run(arguments)
        _Work.seen += 1
        planned = self._race.is_turn_of_plan()
        begin = time.perf_counter()
        result = self._run(arguments) if planned else self._stock(*arguments)
        self._race.note(planned, time.perf_counter() - begin)
        if self._race.winner is not None:
            if not self._race.winner:
                self._run = self._run_stock
            self._race = None
        return result

    def _run_stock(self, arguments: Tuple) -> Any:
        return self._stock(*arguments)

    def _run(self, arguments: Tuple) -> Any:
        weights = [arguments[index] for index in self._inputs.weights]
        numbers = [arguments[index] for index in self._inputs.numbers]
        numbers = [number.item() if isinstance(number, torch.Tensor) else number for number in numbers]
        key = (*map(id, weights), *numbers)
        if self._last is None or key != self._last_key:
            self._last, self._last_key = self._module_of(key, weights + numbers), key
        if self._last is None:
            return self._stock(*arguments)
        _Work.seen += 1
        tensors = self._last(*[arguments[index] for index in self._inputs.others])
        if self._results is None:
            return tensors
        rest = iter(tensors)
        return tuple(next(rest) if given is None else given(arguments) for given in self._results)

    def _module_of(self, key: Tuple, own: List[Any]) -> Optional[CompiledGraph]:
        """The module of these weights, which it keeps alive, and numbers; None where there would be too many."""
        if key not in self._modules and len(self._modules) < MOST_MODULES:
            self._modules[key] = give_plans(CompiledGraph(self._graph, self._inputs.names(), own), self._tune)
        return self._modules.get(key)


class _Race:
    """Plan and graph take the first calls by turns; a plan that is slower, as for a few small tensors, is left."""
    FIRST = 3  # calls for the plan, which prepares in them
    ROUNDS = 4
    CLEARLY = 0.95  # of the plan's time

    def __init__(self, first: int = FIRST) -> None:
        self._calls = -first
        self._best = {True: math.inf, False: math.inf}
        self.winner: Optional[bool] = None  # True: the plan

    def is_turn_of_plan(self) -> bool:
        return self._calls < 0 or self._calls % 2 == 1

    def note(self, planned: bool, seconds: float) -> None:
        if self._calls >= 0:
            self._best[planned] = min(self._best[planned], seconds)
        self._calls += 1
        if self._calls == 2 * self.ROUNDS:
            self.winner = self._best[False] > self.CLEARLY * self._best[True]


class _Inputs:
    """What a graph takes, by the indices of its arguments: weights, sizes of others, numbers, and others."""

    def __init__(self, stock: fx.GraphModule) -> None:
        self.nodes = [node for node in stock.graph.nodes if node.op == "placeholder"]
        self.sizes = _sizes_of(self.nodes)
        kept = [index for index, node in enumerate(self.nodes) if node not in self.sizes]
        self.weights = [index for index in kept if _is_weight(self.nodes[index])]
        self.numbers = [index for index in kept if _is_number(self.nodes[index])]
        self.others = [index for index in kept if index not in self.weights and index not in self.numbers]

    def order(self) -> List[fx.Node]:
        """Those that the rewritten graph takes, in its order: weights and numbers first."""
        return [self.nodes[index] for index in self.weights + self.numbers + self.others]

    def names(self) -> List[str]:
        own = len(self.weights) + len(self.numbers)
        return [f"own_{place}" for place in range(own)] + [""] * len(self.others)


def _is_weight(node: fx.Node) -> bool:
    """True for an input that is a parameter or buffer of a module."""
    return "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})


def _is_number(node: fx.Node) -> bool:
    """True for a number of Python, which may come as a tensor of which the graph reads the item alone."""
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        return True
    return value.dim() == 0 and bool(node.users) and all(map(_is_item, node.users))


def _is_item(node: fx.Node) -> bool:
    return node.op == "call_method" and node.target == "item"


def _sizes_of(inputs: List[fx.Node]) -> Dict[fx.Node, Tuple[fx.Node, int]]:
    """Inputs that are sizes of others, with the tensor and the dimension."""
    found: Dict[Any, Tuple[fx.Node, int]] = {}
    for node in inputs:
        value = node.meta.get("example_value")
        if isinstance(value, torch.Tensor):
            for dimension, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt):
                    found.setdefault(size.node.expr, (node, dimension))
    values = [(node, node.meta.get("example_value")) for node in inputs]
    return {node: found[value.node.expr] for node, value in values
            if isinstance(value, torch.SymInt) and value.node.expr in found}


def _of_tensors_alone(stock: fx.GraphModule, inputs: _Inputs) -> Tuple[fx.GraphModule, Optional[List]]:
    """The graph with sizes read from tensors instead of given, and with results that are tensors alone; and how the
    results come about, each a function of the arguments, or None for the next tensor."""
    graph = fx.Graph()
    copies: Dict[fx.Node, fx.Node] = {node: graph.node_copy(node) for node in inputs.order()}
    for node, (source, dimension) in inputs.sizes.items():
        copies[node] = graph.call_method("size", (copies[source], dimension))
    numbers = [inputs.nodes[index] for index in inputs.numbers]
    results: Any = None
    for node in stock.graph.nodes:
        if node.op == "output":
            results = node.args[0]
        elif _is_item(node) and node.args[0] in numbers:
            copies[node] = copies[node.args[0]]
        elif node not in copies:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    if not isinstance(results, (tuple, list)):
        raise _CannotCompile("its results are no sequence")
    template = [_result(node, inputs.nodes) for node in results]
    graph.output(tuple(copies[node] for node, given in zip(results, template) if given is None))
    return fx.GraphModule(stock, graph), template if any(template) else None


def _result(node: Any, inputs: List[fx.Node]) -> Optional[Callable[[Tuple], Any]]:
    if not isinstance(node, fx.Node):
        return lambda _: node
    if isinstance(node.meta.get("example_value"), torch.Tensor):
        return None
    if node not in inputs:
        raise _CannotCompile(f"its result {node.name} is no tensor")
    return operator.itemgetter(inputs.index(node))


class _Work:
    """Counts what the backend does: graphs that it is given, calls that a plan runs or that are still timed."""
    seen = 0  # writes of several threads may be lost, and a later call finds out instead


class _Around:
    """Calls a compiled function, or what it was made of, where that takes less time: compiled, it runs behind checks that
    take longer than small graphs."""
    CALLS = 3  # without a plan, until that is believed
    FIRST = _Race.FIRST + 2 * _Race.ROUNDS  # with one, while plan and graph are timed

    def __init__(self, compiled: Callable, stock: Callable) -> None:
        self.compiled = compiled
        self.stock = stock
        self._without_plan: Dict[Tuple, int] = {}
        self._races: Dict[Tuple, _Race] = {}
        self._believed: Set[Tuple] = set()  # what is quicker as it was

    def caller(self) -> Callable:
        """A function of the same arguments, on which little time is spent."""
        stock, believed = self.stock, self._believed
        signature_of, grad_is_on = _engine.signature_of, torch.is_grad_enabled

        def call(*args, **kwargs):
            signature = None if kwargs else signature_of(args, True)
            if signature is None:
                return self.compiled(*args, **kwargs)
            key = signature, grad_is_on()
            return stock(*args) if key in believed else self._compiled_call(key, args)

        return call

    def method(self) -> Callable:
        """__call__ of what torch.compile makes of a module: forward of the module, where nothing is hooked to it."""
        stock, believed, own = self.stock, self._believed, self.stock.__dict__
        signature_of, grad_is_on = _engine.signature_of, torch.is_grad_enabled
        every = nn.modules.module
        before, after = every._global_forward_pre_hooks, every._global_forward_hooks
        before_backward, after_backward = every._global_backward_pre_hooks, every._global_backward_hooks
        is_plain = type(stock).__call__ is nn.Module.__call__

        def __call__(compiled, *args, **kwargs):
            signature = None if kwargs else signature_of(args, True)
            theirs = compiled.__dict__
            if signature is None or theirs["_forward_hooks"] or theirs["_forward_pre_hooks"] or theirs["_backward_hooks"] \
                    or theirs["_backward_pre_hooks"]:
                return self.compiled(*args, **kwargs)
            key = signature, grad_is_on(), own.get("training")
            if key not in believed:
                return self._compiled_call(key, args)
            if own["_forward_hooks"] or own["_forward_pre_hooks"] or own["_backward_hooks"] or own["_backward_pre_hooks"] \
                    or before or after or before_backward or after_backward or own.get("_compiled_call_impl") or not is_plain:
                return stock(*args)
            return stock.forward(*args)

        return __call__

    def _compiled_call(self, key: Tuple, args: Tuple) -> Any:
        race = self._races.get(key)
        if race is not None and race.winner is None:
            return self._timed_call(race, key, args)
        seen, calls = _Work.seen, self._without_plan.get(key, 0)
        result = self.compiled(*args)
        if seen != _Work.seen:
            self._without_plan.pop(key, None)
            if race is None and len(self._races) < MOST_SIGNATURES:
                self._races[key] = _Race(self.FIRST)
        elif calls + 1 == self.CALLS:
            self._believed.add(key)
        elif calls or len(self._without_plan) < MOST_SIGNATURES:
            self._without_plan[key] = calls + 1
        return result

    def _timed_call(self, race: "_Race", key: Tuple, args: Tuple) -> Any:
        seen, planned = _Work.seen, race.is_turn_of_plan()
        begin = time.perf_counter()
        result = self.compiled(*args) if planned else self.stock(*args)
        race.note(planned, time.perf_counter() - begin)
        if planned and seen == _Work.seen:
            del self._races[key]  # no plan runs any more, or none did after the compilation
            self._without_plan[key] = 1
        elif race.winner is False:
            self._believed.add(key)
        return result


def _around(compiled: Any, stock: Any) -> Any:
    """What torch.compile returned, which goes around itself where that is quicker."""
    if not isinstance(compiled, nn.Module):
        return functools.wraps(compiled)(_Around(compiled, stock).caller())
    if compiled is stock:  # it has nothing to compile
        return compiled
    kind = type(compiled)
    around = _Around(functools.partial(kind.__call__, compiled), stock)
    compiled.__class__ = type(kind.__name__, (kind,), {
        "__call__": around.method(), "__module__": kind.__module__, "__qualname__": kind.__qualname__,
        "__reduce__": lambda self: (kind, *kind.__reduce__(self)[1:]), "_ipex_around": around})
    return compiled


def _register() -> None:
    """Makes the backend known to torch.compile by its names; others keep a name that they have."""
    from torch._dynamo.backends import registry
    for name in NAMES:
        if name not in registry.list_backends(exclude_tags=()):
            registry.register_backend(backend, name=name)


def install() -> None:
    """Wraps torch.compile, where there is one: the backend is registered when it is first called, since that takes
    longer to import than all of this package."""
    stock = getattr(torch, "compile", None)
    if stock is None or hasattr(stock, "_ipex_wraps"):
        return

    @functools.wraps(stock)
    def compile_with_ours(model=None, **kwargs):
        if kwargs.get("backend") not in NAMES:
            return stock(model, **kwargs)
        _register()
        if model is None:
            return lambda decorated: compile_with_ours(decorated, **kwargs)
        return _around(stock(model, **kwargs), model)

    compile_with_ours._ipex_wraps = stock
    torch.compile = compile_with_ours
