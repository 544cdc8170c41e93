"""Plans for frozen modules of TorchScript that scripts make and load themselves, without a call of ours.

torch.jit.freeze and torch.jit.load are wrapped while this package is imported. What they return is the module that it
was, with its graph and its file; where all of it is in its graph, and gradients and autocast are off, it runs by a plan
from its second call with arguments of a form on, if that gives the same results. That call measures kernels, unless their
times are remembered; they stay the same from then on, for these sizes and this number of threads.
"""
import functools
import threading
from typing import Any, Callable, Dict, Hashable, List, Optional, Tuple

import torch

from . import _engine, _kernel_times
from ._extension import reads_extension
from ._forms import UnknownForm, put_together, take_apart, without_sizes
from ._log import logger
from ._plans import CannotPlan, check_results, rounds_values, run_once
from ._script import plan_script, plan_tuned
from ._versions import autocast_is_on

_enabled = True


def enable_onednn_fusion(enabled: bool) -> None:
    """Switches plans for frozen modules that scripts make and load themselves on (as at first) or off."""
    global _enabled
    _enabled = bool(enabled)


def onednn_fusion_is_enabled() -> bool:
    return _enabled


class _Forward:
    """forward of a frozen module: called, it may run a plan; in all else it is torch's.

    Plans are kept by the form of arguments without sizes: control flow is in the graph, so sizes need none of their own.
    """

    def __init__(self, module: torch.jit.ScriptModule) -> None:
        self._module = torch.jit._recursive.wrap_cpp_module(module._c)  # without a way back to this object
        self._stock = module._c._get_method("forward")
        self._lock = threading.Lock()
        self._plans: Dict[Hashable, Optional[Callable]] = {}  # forward methods, which keep their modules
        self._seen = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stock, name)

    def __call__(self, *args, **kwargs) -> Any:
        if not _enabled or kwargs or autocast_is_on() or torch._C._get_tracing_state() is not None:
            return self._stock(*args, **kwargs)
        key = _engine.signature_of(args, False)
        known = key is not None and key in self._plans
        plan = self._plans[key] if known else self._find_or_make(key, args)
        return self._stock(*args) if plan is None else plan(*args)

    def _find_or_make(self, key: Optional[Hashable], args: Tuple) -> Optional[Callable]:
        leaves: List[torch.Tensor] = []
        try:
            form = take_apart((args, {}), leaves)
        except UnknownForm:
            return None
        if torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves):
            return None
        key = without_sizes(form) if key is None else key
        if not self._lock.acquire(blocking=False):
            return None  # another thread makes a plan, and this one need not wait for it
        try:
            if key not in self._plans and key in self._seen:
                self._plans[key] = self._make(form, leaves)
            self._seen.add(key)
            return self._plans.get(key)
        finally:
            self._lock.release()

    def _make(self, form: Tuple, leaves: List[torch.Tensor]) -> Optional[Callable]:
        try:
            with torch.inference_mode(False), torch.no_grad():
                inputs = [leaf.detach().clone() for leaf in leaves]
                expected, _ = run_once(self._stock, form, inputs)
                args, _ = put_together(form, iter(inputs))
                budget_s = _kernel_times.measuring_budget()
                tuned = plan_tuned(self._module, args, _kernel_times.remembered(), budget_s) if budget_s > 0 else None
                plan = (tuned.module if tuned else plan_script(self._module, args)._c)._get_method("forward")
                results: List[torch.Tensor] = []
                take_apart(plan(*args), results)
                check_results(results, expected, rounds_values(self._module))
            if tuned and _kernel_times.remember(tuned.measured()):
                logger.info("Kernels of a frozen module were measured for %.1f s.", tuned.measuring_seconds())
            return plan
        except (CannotPlan, UnknownForm) as reason:
            logger.info("A frozen module runs without a plan: %s.", reason)
        except Exception as problem:  # whatever it is, the module itself runs
            logger.info("A frozen module runs without a plan: %s", problem)
        return None


class FrozenModule(torch.jit.RecursiveScriptModule):
    """A frozen module that gets plans by itself."""

    forward = property(lambda self: self.__dict__["_ipex_forward"])


def _is_whole_in_its_graph(module: Any) -> bool:
    """True for a module in whose graph all weights are, and which therefore has no state."""
    if type(module) is not torch.jit.RecursiveScriptModule or not module._c._has_method("forward"):
        return False
    tensors = list(module.parameters()) + list(module.buffers())
    graph = module._c._get_method("forward").graph
    return not tensors and not any(True for _ in module.children()) and not graph.findAllNodes("prim::GetAttr") \
        and "ipex_studio::region" not in str(graph)


def _with_plans(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        module = function(*args, **kwargs)
        if _is_whole_in_its_graph(module):
            module.__class__ = FrozenModule
            module.__dict__["_ipex_forward"] = _Forward(module)
        return module

    wrapped._ipex_wraps = function
    return wrapped


def install() -> None:
    """Wraps torch.jit.freeze and torch.jit.load."""
    for name in ("freeze", "load"):
        function = getattr(torch.jit, name)
        if not hasattr(function, "_ipex_wraps"):
            read = reads_extension(function) if name == "load" else function
            setattr(torch.jit, name, _with_plans(read))
