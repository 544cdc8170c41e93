"""Plans of one nn.Module: made when it is first called with arguments of a form, dropped when its weights change."""
import functools
import itertools
import re
import threading
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.fx

from . import _engine
from ._forms import UnknownForm, put_together, take_apart, without_sizes
from ._log import logger
from ._patched import patch, role, shadow_of
from ._script import plan_script
from ._versions import autocast_is_on

MOST_FORMS = 8  # of arguments with plans of their own
MOST_CHANGES = 8  # of weights after which plans no longer pay
LARGEST_ERROR = 1e-4  # of the largest value
LARGEST_ROUNDED = 0.03  # of the norm, where the model itself rounds to integers or to floats of two bytes
_MADE_UNIQUE = re.compile(r"___torch_mangle_\d+\.")  # part of a type's name; another in each trace
_READS_ONE_NUMBER = re.compile(r"Converting a tensor to a Python (boolean|integer|float|index|number)|Iterating over|"
                               r"Using len|.* results are registered as constants")


class CannotPlan(Exception):
    """Why a call stays as it is, as a clause. `always`: so will every other call of the model."""

    def __init__(self, reason: str, always: bool = False) -> None:
        super().__init__(reason)
        self.always = always


class Traced(NamedTuple):
    """A plan, the form of its result, and what it was traced to."""
    plan: torch.jit.ScriptModule
    call: Callable  # its forward
    result: Tuple
    any_size: bool  # False where Python code read sizes
    text: str
    constants: List[torch.Tensor]


class Call(torch.nn.Module):
    """A call of a model as a function of its tensors alone."""

    def __init__(self, model: torch.nn.Module, form: Tuple) -> None:
        super().__init__()
        self.model = model
        self.form = form
        self.training = False

    def forward(self, *tensors):
        args, kwargs = put_together(self.form, iter(tensors))
        leaves: List[torch.Tensor] = []
        take_apart(self.model(*args, **kwargs), leaves)
        return tuple(leaves)


def _watch(model: torch.nn.Module) -> _engine.Watch:
    entries = []
    empty = []
    for module in model.modules():
        entries.append((module.__dict__, "training", module.training))
        for owned in (module._parameters, module._buffers, module._modules):
            entries += [(owned, name, value) for name, value in owned.items()]
        if module is not model:
            empty += [hooks for hooks in (module._forward_hooks, module._forward_pre_hooks) if not hooks]
    return _engine.Watch(entries, empty)


def _has_hooks(model: torch.nn.Module) -> bool:
    return any(module._forward_hooks or module._forward_pre_hooks for module in model.modules() if module is not model)


def _numbers(model: torch.nn.Module) -> List:
    """What modules count and remember beside their tensors."""
    return [(name, value) for module in model.modules() for name, value in module.__dict__.items()
            if type(value) in (bool, int, float, str)]


def trace(call: torch.nn.Module, inputs: List[torch.Tensor]) -> Tuple[torch.jit.ScriptModule, bool]:
    """The trace, and whether it may be right for other sizes. Raises CannotPlan if it is wrong for other values."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        traced = torch.jit.trace(call, tuple(inputs), check_trace=False)
    doubts = [warning for warning in said if issubclass(warning.category, torch.jit.TracerWarning)
              and "might cause the trace to be incorrect" in str(warning.message)]
    if doubts and not _depends_on_sizes_alone(doubts, call, inputs):
        text = str(doubts[0].message).splitlines()[0].split("incorrect.")[0]
        place = f"{doubts[0].filename}:{doubts[0].lineno}"
        raise CannotPlan(f"its Python code depends on values ({place}: {text}incorrect)", always=True)
    return traced, not doubts


def _depends_on_sizes_alone(doubts, call: Call, inputs: List[torch.Tensor]) -> bool:
    """True if Python code that reads tensors while they are traced reads sizes, as another tracer sees it, in which
    sizes are numbers and the contents of tensors cannot become numbers."""
    if not all(_READS_ONE_NUMBER.match(str(doubt.message)) for doubt in doubts):
        return False  # NumPy reads contents without either tracer
    from torch.fx.experimental.proxy_tensor import make_fx  # takes a moment to import
    try:
        make_fx(call)(*inputs)
    except Exception:
        return False
    return True


def _what_was_traced(traced: torch.jit.ScriptModule) -> Tuple[str, List[torch.Tensor]]:
    graph = traced.inlined_graph
    torch._C._jit_pass_erase_shape_information(graph)
    nodes = graph.findAllNodes("prim::Constant") if hasattr(graph, "findAllNodes") else []
    constants = [node.t("value") for node in nodes if node.hasAttribute("value") and node.kindOf("value") == "t"]
    return _MADE_UNIQUE.sub("", graph.str(False)), constants


def _same_trace(one: Traced, other: Traced) -> bool:
    return (one.any_size and other.any_size and one.text == other.text
            and without_sizes(one.result) == without_sizes(other.result)
            and len(one.constants) == len(other.constants) and all(map(torch.equal, one.constants, other.constants)))


def rounds_values(module: torch.jit.ScriptModule) -> bool:
    """True for a graph that rounds values to integers, or by its weights to BF16 or FP16: where one lies between two of
    them, sums in another order decide."""
    text = str(module._c._get_method("forward").graph)
    return any(name in text for name in ("aten::quantize_per_", "quantized::", "BFloat16(", "Half("))


def check_results(results, expected, rounds: bool = False) -> None:
    """Raises CannotPlan where results are not those of the model. `rounds`: rounds_values() of it."""
    for result, wanted in zip(results, expected):
        if result.dtype != wanted.dtype or result.shape != wanted.shape:
            raise CannotPlan("its plan gives results of another form")
        if wanted.numel() == 0:
            continue
        if not wanted.is_floating_point():
            equal = torch.equal(result, wanted)
        elif rounds:
            off, norm = (result.double() - wanted.double()).norm(), wanted.double().norm()
            equal = bool(off <= LARGEST_ROUNDED * norm)
        else:
            known = torch.isfinite(wanted)
            bound = LARGEST_ERROR * wanted[known].abs().max() if known.any() else 0
            equal = torch.allclose(result, wanted, rtol=0, atol=float(bound), equal_nan=True)
        if not equal:
            raise CannotPlan("its results differ from call to call, or a plan's are not near enough")


class Plans:
    """Runs a model by its plans where that gives what the model gives, else as it is.

    A call runs as it is while gradients are wanted, in autocast, in training mode, while it is traced, and with
    arguments that plans do not take.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._reasons = set()
        self._changes = 0
        self._never = False
        self._forget()

    def __reduce__(self):
        return Plans, ()  # copies of models make their own

    def run(self, model: torch.nn.Module, forward: Callable, args: Tuple, kwargs: Dict[str, Any]) -> Any:
        if not kwargs and not torch.is_grad_enabled():
            traced = self._by_signature.get(_engine.signature_of(args, True))
            if traced is not None and self._why_not(model) is None and self._watch.same():
                return _result_of(traced, args)
        leaves: List[torch.Tensor] = []
        reason = self._why_not(model, args, kwargs)
        if reason is None:
            try:
                form = take_apart((args, kwargs), leaves)
                traced = self._plan_for(model, form, leaves)
                if traced is not None:
                    self._remember(args, kwargs, traced)
                    return _result_of(traced, leaves)
            except UnknownForm as unknown:
                reason = f"an argument is {unknown}"
        if reason:
            self._say(model, reason)
        return forward(*args, **kwargs)

    def _forget(self) -> None:
        self._watch: Optional[_engine.Watch] = None
        self._by_form: Dict[Tuple, Optional[Traced]] = {}
        self._any_size: Dict[Tuple, Traced] = {}
        self._by_signature: Dict[Optional[bytes], Traced] = {}  # what is quick to look up

    def _remember(self, args: Tuple, kwargs: Dict[str, Any], traced: Traced) -> None:
        signature = None if kwargs else _engine.signature_of(args, True)
        if signature is not None:
            self._by_signature[signature] = traced

    def _say(self, model: torch.nn.Module, reason: str) -> None:
        if reason not in self._reasons:
            self._reasons.add(reason)
            logger.warning("%s runs without a plan: %s.", type(model).__name__, reason)

    def _why_not(self, model: torch.nn.Module, args: Tuple = (), kwargs: Dict[str, Any] = {}) -> Optional[str]:
        """Why this call runs as it is; "" where that needs no word. Of plain tensors, `args` may be left out."""
        if self._never or model.training or torch._C._get_tracing_state() is not None:
            return ""
        if any(isinstance(value, torch.fx.Proxy) for value in itertools.chain(args, kwargs.values())):
            return ""
        if autocast_is_on():
            return "autocast is on"
        if torch.is_grad_enabled():
            tensors = itertools.chain(args, kwargs.values(), model.parameters())
            if any(isinstance(value, torch.Tensor) and value.requires_grad for value in tensors):
                return "gradients are on; call it within torch.no_grad()"
        return None

    def _plan_for(self, model, form: Tuple, leaves: List[torch.Tensor]) -> Optional[Traced]:
        if self._watch is not None and self._watch.same():
            try:
                return self._by_form[form]
            except KeyError:
                pass
        with self._lock:
            self._begin_anew_if_changed(model)
            if form not in self._by_form:
                self._by_form[form] = self._find_or_make(model, form, leaves)
            return self._by_form[form]

    def _begin_anew_if_changed(self, model: torch.nn.Module) -> None:
        if self._watch is not None and self._watch.same():
            return
        if self._watch is not None:
            self._changes += 1
        self._forget()
        self._watch = _watch(model)

    def _find_or_make(self, model, form: Tuple, leaves: List[torch.Tensor]) -> Optional[Traced]:
        any_size = self._any_size.get(without_sizes(form))
        if any_size is not None:
            return any_size
        try:
            if len(self._by_form) >= MOST_FORMS:
                raise CannotPlan(f"{MOST_FORMS} forms of arguments have plans, and this is another")
            if self._changes > MOST_CHANGES:
                raise CannotPlan("its weights change too often")
            if not leaves:
                raise CannotPlan("no argument is a tensor")
            return self._make(model, form, leaves)
        except CannotPlan as reason:
            self._never = reason.always
            self._say(model, str(reason))
        except Exception as problem:  # tracing runs any code of a model's author
            first_line = next(iter(str(problem).strip().splitlines()), repr(problem))
            self._say(model, f"it cannot be planned ({first_line})")
        return None

    def _make(self, model, form: Tuple, leaves: List[torch.Tensor]) -> Traced:
        if _has_hooks(model):
            raise CannotPlan("its layers have hooks", always=True)
        with torch.inference_mode(False), torch.no_grad():
            tune = model.__dict__["_ipex_tune"]
            inputs = [leaf.detach().clone() for leaf in leaves]
            shadow = shadow_of(model)
            watch, numbers = _watch(shadow), _numbers(shadow)
            expected, result = run_once(shadow, form, inputs)
            if not watch.same() or numbers != _numbers(shadow):
                raise CannotPlan("it changes its own state", always=True)
            traced, any_size = trace(Call(shadow, form), inputs)
            made = Traced(traced, traced, result, any_size, *_what_was_traced(traced))
            alike = self._traced_alike(form, made)
            if alike is not None:
                made = self._any_size[without_sizes(form)] = alike
            else:
                plan = plan_script(traced, inputs, tune)
                made = made._replace(plan=plan, call=plan._c._get_method("forward"))
            check_results(made.call(*inputs), expected, rounds_values(traced))
            return made

    def _traced_alike(self, form: Tuple, made: Traced) -> Optional[Traced]:
        """An earlier plan, for other sizes, whose operators are the same: it is right for any sizes."""
        for other, earlier in self._by_form.items():
            if earlier is not None and without_sizes(other) == without_sizes(form) and _same_trace(earlier, made):
                return earlier
        return None


def _result_of(traced: Traced, leaves) -> Any:
    results = traced.call(*leaves)
    return results[0] if traced.result[0] == "tensor" else put_together(traced.result, iter(results))


def run_once(call: Callable, form: Tuple, inputs: List[torch.Tensor]) -> Tuple[List[torch.Tensor], Tuple]:
    """The results of a call, taken apart, and their form. Raises CannotPlan where it writes to its arguments."""
    given = [tensor.clone() for tensor in inputs]
    args, kwargs = put_together(form, iter(given))
    expected: List[torch.Tensor] = []
    try:
        result = take_apart(call(*args, **kwargs), expected)
    except UnknownForm as unknown:
        raise CannotPlan(f"it returns {unknown}") from unknown
    if any(tensor._version for tensor in given):
        raise CannotPlan("it writes to its arguments", always=True)
    return expected, result


@role("planned")
def _planned_members(base: type) -> Dict[str, Any]:
    @functools.wraps(base.forward)
    def forward(self, *args, **kwargs):
        plans = self.__dict__.get("_ipex_plans") or self.__dict__.setdefault("_ipex_plans", Plans())
        return plans.run(self, functools.partial(base.forward, self), args, kwargs)

    return {"forward": forward, "_ipex_attributes": ("_ipex_plans", "_ipex_tune"), "_ipex_transient": ("_ipex_plans",)}


def is_planned(model: torch.nn.Module) -> bool:
    return any("_ipex_tune" in kind.__dict__.get("_ipex_attributes", ()) for kind in type(model).__mro__)


def give_plans(model: torch.nn.Module, tune: str = "off") -> torch.nn.Module:
    """Makes a model run by plans from its next call on; the model itself changes, and is returned."""
    if not is_planned(model):
        patch(model, "planned")
    model.__dict__["_ipex_tune"] = tune
    return model
